package reflector

import (
	"fmt"

	"github.com/seed3bce33ad/listwatch"
)

// page takes a page of the list in progress.
func (m *machine) page(in input) effect {
	if in.class != classClean {
		return m.listFailed(in)
	}
	p, version, token := *m.plan, in.meta.ResourceVersion, in.meta.Continue
	fault, floor := p.fault(in.meta), in.floor
	switch {
	case fault != "" && p.limit != 0 && version != "":
		m.unpaged = m.unpaged || p.token == "" || version == p.listed
		return turn(m.whole(), fault)
	case fault != "":
		return m.fail(in, m.read(in), fault)
	case p.mode == listwatch.Reset && !older(version, floor):
		return m.fail(in, m.latest(listwatch.Rebuild), fmt.Sprintf("the version went back and is at %s again", version))
	case p.mode == listwatch.Rebuild && older(version, floor):
		fault = fmt.Sprintf("list of version %s after %s", version, floor)
		if p.match == listwatch.MatchLatest {
			return turn(m.latest(listwatch.Reset), fault+": the server was restored")
		}
		return turn(m.latest(listwatch.Rebuild), fault)
	case token != "":
		return effect{do: doList, list: p.next(in.meta)}
	}
	return effect{do: doCommit, version: version}
}

// fault says what is wrong with a page of the list; "" when nothing is.
func (p plan) fault(page listwatch.ListMeta) string {
	switch {
	case page.ResourceVersion == "", page.ResourceVersion == "0":
		return "list without a version"
	case p.token != "" && page.ResourceVersion != p.listed:
		return fmt.Sprintf("pages of two versions, %s and %s", p.listed, page.ResourceVersion)
	case p.token != "" && page.Continue != "" && (page.Continue == p.token || page.Continue == p.seen):
		return "a page names an earlier one as the next one"
	case page.Continue == "" && page.Remaining > 0:
		return fmt.Sprintf("%d more objects, but no token to get them", page.Remaining)
	}
	return ""
}

// next is the plan for the page after one. Of the tokens it remembers one, behind ever more pages,
// so that every circle of pages is met.
func (p plan) next(page listwatch.ListMeta) plan {
	p.token, p.listed = page.Continue, page.ResourceVersion
	p.pages++
	if p.pages&(p.pages-1) == 0 {
		p.seen = p.token
	}
	return p
}

func (m *machine) listFailed(in input) effect {
	p := *m.plan
	switch in.class {
	case classExpired:
		if p.token != "" && p.limit != 0 {
			return turn(m.whole(), "")
		}
	case classTooNew, classUnsupported:
	default:
		return m.fail(in, m.read(in), "")
	}
	if p.match == listwatch.MatchNotOlder && p.token == "" {
		return turn(m.latest(listwatch.Rebuild), "")
	}
	return m.fail(in, m.read(in), "")
}

// probed takes the answer to a probe. Too large a version means a server that was restored,
// or one that lags behind; the latest list tells which.
func (m *machine) probed(in input) effect {
	switch {
	case in.class == classTooNew:
		return turn(m.latest(listwatch.Rebuild), "")
	case in.class == classClean && older(in.meta.ResourceVersion, in.floor):
		return turn(m.latest(listwatch.Rebuild), fmt.Sprintf("probe of version %s after %s", in.meta.ResourceVersion, in.floor))
	case in.class == classExpired:
		return turn(m.read(in), "")
	case in.class == classClean, in.class == classUnsupported:
		m.silent = 0
		return effect{do: doWatch}
	}
	return m.fail(in, effect{do: doWatch}, "")
}
