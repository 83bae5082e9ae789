package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// Allows reports whether a rule allows what a request wants to do.
func Allows(r *rbacv1.PolicyRule, a *auth.Attributes) bool {
	if !has(r.Verbs, a.Verb) {
		return false
	}
	if a.Resource == "" {
		return slices.ContainsFunc(r.NonResourceURLs, func(url string) bool { return matchesURL(url, a.Path) })
	}
	return has(r.APIGroups, a.Group) && hasResource(r.Resources, a.Resource, a.Subresource) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, a.Name))
}

// has reports whether a list has a word, or the star that stands for all.
func has(list []string, word string) bool {
	for _, s := range list {
		if s == word || s == rbacv1.VerbAll {
			return true
		}
	}
	return false
}

// hasResource reports whether a list has a resource: by name, by "*", or a subresource as "*/name".
func hasResource(list []string, resource, sub string) bool {
	if sub == "" {
		return has(list, resource)
	}
	for _, s := range list {
		if s == rbacv1.ResourceAll {
			return true
		}
		if of, name, ok := strings.Cut(s, "/"); ok && name == sub && (of == resource || of == rbacv1.ResourceAll) {
			return true
		}
	}
	return false
}

// matchesURL reports whether a path is what a rule names; a star at the end stands for anything.
func matchesURL(rule, path string) bool {
	before, star := strings.CutSuffix(rule, "*")
	return rule == path || star && strings.HasPrefix(path, before)
}

// Missing returns what the rules in wanted allow and those in held do not, in parts that are as small as can be.
// A part is held when a single rule allows it.
func Missing(held, wanted []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var missing []rbacv1.PolicyRule
	for _, rule := range wanted {
		for _, part := range parts(rule) {
			if !slices.ContainsFunc(held, func(r rbacv1.PolicyRule) bool { return covers(&r, &part) }) {
				missing = append(missing, part)
			}
		}
	}
	return missing
}

// parts breaks a rule into rules of one verb, and of one resource or one URL.
func parts(r rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	names := [][]string{nil}
	if len(r.ResourceNames) > 0 {
		names = slices.Collect(slices.Chunk(r.ResourceNames, 1))
	}
	for _, verb := range r.Verbs {
		verbs := []string{verb}
		for _, url := range r.NonResourceURLs {
			all = append(all, rbacv1.PolicyRule{Verbs: verbs, NonResourceURLs: []string{url}})
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, name := range names {
					all = append(all, rbacv1.PolicyRule{
						Verbs: verbs, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: name})
				}
			}
		}
	}
	return all
}

// covers reports whether a rule allows all that a part does.
func covers(r, part *rbacv1.PolicyRule) bool {
	if !has(r.Verbs, part.Verbs[0]) {
		return false
	}
	if len(part.NonResourceURLs) > 0 {
		return slices.ContainsFunc(r.NonResourceURLs, func(url string) bool { return matchesURL(url, part.NonResourceURLs[0]) })
	}
	resource, sub, _ := strings.Cut(part.Resources[0], "/")
	return has(r.APIGroups, part.APIGroups[0]) && hasResource(r.Resources, resource, sub) &&
		(len(r.ResourceNames) == 0 || len(part.ResourceNames) > 0 && slices.Contains(r.ResourceNames, part.ResourceNames[0]))
}

// Compact joins rules that differ in their verbs alone, and leaves out what is there twice. The order of the first ones
// stays.
func Compact(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var compact []rbacv1.PolicyRule
	for _, r := range rules {
		i := slices.IndexFunc(compact, func(c rbacv1.PolicyRule) bool {
			return slices.Equal(c.APIGroups, r.APIGroups) && slices.Equal(c.Resources, r.Resources) &&
				slices.Equal(c.ResourceNames, r.ResourceNames) && slices.Equal(c.NonResourceURLs, r.NonResourceURLs)
		})
		if i < 0 {
			r.Verbs = slices.Clone(r.Verbs)
			compact = append(compact, r)
			continue
		}
		for _, verb := range r.Verbs {
			if !slices.Contains(compact[i].Verbs, verb) {
				compact[i].Verbs = append(compact[i].Verbs, verb)
			}
		}
	}
	return compact
}
