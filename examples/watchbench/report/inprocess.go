package report

import (
	"slices"
	"strconv"
)

const (
	ours  = "listwatch"
	peer  = "client-go"
	ranks = "controller-runtime"
	// compact is ours with compact storage, ordinary ours without where ours is with it.
	compact  = "listwatch-compact"
	ordinary = "listwatch-ordinary"
)

// inProcess returns the targets of the workloads without a network.
func inProcess() (all []Target) {
	at := func(workload, name, metric string) Place { return Place{workload, name, ours, metric} }
	// Bounds are how many times faster, which is how the targets were set.
	faster := func(workload, name, metric, than string, must, aim, quick float64) {
		all = append(all, Target{at(workload, name, metric), than, "", AtMost, 1 / must, 1 / aim, 1 / quick})
	}
	for _, p := range []struct {
		handlers         string
		must, aim, quick float64
	}{{"1", 3, 5, 2}, {"10", 8, 15, 5}, {"100", 30, 80, 15}} {
		all = append(all, Target{at("P", p.handlers, "events_per_s"), peer, "", AtLeast, p.must, p.aim, p.quick})
	}
	all = append(all, Target{at("H", "blocked", "pairs_per_key"), "", "", AtMost, 1, none, 1.5})
	for _, goroutines := range []string{"1", "8"} {
		faster("I", goroutines, "update_same_ns", peer, 2, 3, 1.3)
		faster("I", goroutines, "update_moved_ns", peer, 2, 3, 1.3)
		faster("I", goroutines, "get_ready_ns", peer, 0.7, 1, 0.5)
		faster("I", goroutines, "get_built_ns", peer, 1.5, none, 1)
		faster("I", goroutines, "by_index_ns", peer, 5, none, 3)
		faster("I", goroutines, "list_ns", peer, 0.8, 1, 0.6)
		faster("I", goroutines, "mix_get_ns", peer, 0.9, none, 0.6)
		faster("I", goroutines, "mix_by_index_ns", peer, 5, none, 3)
	}
	for workers, bound := range map[string][3]float64{"1": {1.3, 1.5, 1}, "2": {1.3, 1.5, 1}, "8": {0.9, 1, 0.7}, "64": {0.9, 1, 0.7}} {
		faster("Q", "distinct-"+workers, "ns_per_key", peer, bound[0], bound[1], bound[2])
	}
	faster("Q", "hot", "ns_per_add", peer, 0.6, 1, 0.5)
	faster("Q", "delayed", "heap_B_per_key", peer, 1, 1/0.7, 0.8)
	faster("Q", "due", "ns_per_key", peer, 1.3, 2, 1)
	faster("Q", "rate-limited", "ns_per_key", peer, 1.5, 2, 1)
	faster("Q", "priorities-1", "ns_per_key", ranks, 4, 8, 3)
	faster("Q", "priorities-8", "ns_per_key", ranks, 4, 8, 3)
	return slices.Concat(all, storage(), growth())
}

// storage returns the targets of compact storage.
func storage() []Target {
	at := func(name, metric string) Place { return Place{"S4", name, ours, metric} }
	return []Target{
		{at("compact", "bytes_per_object"), peer, "", AtMost, 0.12, 0.08, 0.2},
		{at("reads", "hit_ns"), ordinary, "", AtMost, 2, none, 3},
		{at("reads", "miss_ns"), ordinary, "", AtMost, 3, none, 4},
		{at("reads", "by_index_ns"), ordinary, "", AtMost, none, none, none},
	}
}

// growth returns the targets of workload G: what one costs among many, to one among few.
func growth() (all []Target) {
	flat := func(side, of string, few, many int, metrics ...string) {
		for _, metric := range metrics {
			place := Place{"G", of + "-" + strconv.Itoa(many), side, metric}
			all = append(all, Target{place, side, of + "-" + strconv.Itoa(few), AtMost, 1.5, none, none})
		}
	}
	flat(ours, "objects", 10_000, 300_000, "sync_ns_per_object", "B_per_object", "update_ns")
	flat(compact, "objects", 10_000, 1_000_000, "sync_ns_per_object", "B_per_object", "update_ns")
	flat(ours, "handlers", 10, 1_000, "ns_per_delivery", "B_per_handler")
	flat(ours, "informers", 10, 10_000, "B_per_informer")
	return all
}
