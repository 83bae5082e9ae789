package report

import "math"

// none is a bound that is not there.
var none = math.NaN()

// Targets returns all targets. Bounds of ratios are ours over the peer's.
func Targets() []Target { return append(overHTTP(), inProcess()...) }

// overHTTP returns the targets of the workloads that ask a server, and of the programs.
func overHTTP() []Target {
	const (
		json, protobuf  = peer, "client-go-protobuf"
		wall, cpu, peak = "wall_s", "process_cpu_s", "process_peak_mib"
	)
	at := func(workload, name, metric string) Place { return Place{workload, name, ours, metric} }
	typed := func(metric string) Place { return Place{"F", "program", "listwatch-corev1", metric} }
	return []Target{
		{at("S1", "list", wall), json, "", AtMost, 1 / 3.5, 1 / 5.0, 1 / 2.5},
		{at("S1", "list", cpu), json, "", AtMost, 1 / 2.5, 1 / 3.0, 1 / 1.8},
		{at("S1", "list", peak), json, "", AtMost, 1 / 2.0, 1 / 2.5, 1},
		{at("S1", "list", wall), protobuf, "", AtMost, 1, 1, 1.2},
		{at("S1", "list", cpu), protobuf, "", AtMost, none, 1, none},
		{at("S1", "list", peak), protobuf, "", AtMost, 1, 1, 1.2},
		{at("S1", "list in pages", wall), json, "", AtMost, none, none, none},
		{at("S1", "list in pages", cpu), json, "", AtMost, none, none, none},
		{at("S1", "list in pages", peak), json, "", AtMost, none, none, none},

		{at("S2", "streaming list", wall), json, "", AtMost, 1 / 8.0, 1 / 10.0, 1 / 4.0},
		{at("S2", "streaming list", cpu), json, "", AtMost, none, none, none},
		{at("S2", "streaming list", peak), json, "", AtMost, none, none, none},
		{at("S2", "streaming list", wall), protobuf, "", AtMost, 1, 1, 1.2},
		{at("S2", "streaming list", cpu), protobuf, "", AtMost, none, 1, none},
		{at("S2", "streaming list", peak), protobuf, "", AtMost, 1, 1, 1.2},

		{at("S3", "typed", "bytes_per_object"), json, "", AtMost, 0.87, 0.80, 0.95},
		{at("S3", "typed without managedFields", "bytes_per_object"), json, "typed", AtMost, 0.78, 0.70, 0.85},
		{at("S3", "typed without managedFields", "bytes_per_object"), json, "", AtMost, none, none, none},
		{at("S3", "untyped", "bytes_per_object"), json, "", AtMost, 0.5, 0.35, 0.6},

		{at("W", "HTTP/1.1", "events_per_s"), json, "", AtLeast, 8, 12, 5},
		{at("W", "HTTP/1.1", "cpu_s_per_million"), json, "", AtMost, 1 / 8.0, 1 / 11.0, 1 / 5.0},
		{at("W", "HTTP/1.1", "cpu_s_per_million"), protobuf, "", AtMost, 0.9, 0.65, 1.3},
		{at("W", "HTTP/2 and TLS", "events_per_s"), json, "", AtLeast, none, none, none},
		{at("W", "HTTP/2 and TLS", "cpu_s_per_million"), json, "", AtMost, none, none, none},

		{at("L", "paced", "p50_ms"), json, "", AtMost, 1 / 2.0, 1 / 3.0, 0.8},
		{at("L", "paced", "p90_ms"), json, "", AtMost, 1 / 2.0, 1 / 3.0, 0.9},
		{at("L", "paced", "p99_ms"), json, "", AtMost, none, none, none},
		{at("L", "paced", "p99.9_ms"), json, "", AtMost, none, none, none},

		{at("R", "after a list", "wall_s"), json, "", AtMost, 1 / 8.0, 1 / 15.0, 1 / 4.0},
		{at("R", "after a list", "cpu_s"), json, "", AtMost, 1 / 8.0, 1 / 15.0, 1 / 4.0},
		{at("R", "after a list", "peak_over_before"), "", "", AtMost, 1.1, none, 1.3},
		{at("R", "after a list", "handler_calls"), "", "", AtMost, 0, none, 0},
		{at("R", "after a streaming list", "wall_s"), json, "", AtMost, 1 / 8.0, 1 / 15.0, none},
		{at("R", "after a streaming list", "cpu_s"), json, "", AtMost, 1 / 8.0, 1 / 15.0, none},
		{at("R", "after a streaming list", "peak_over_before"), "", "", AtMost, 1.1, none, none},
		{at("R", "after a streaming list", "handler_calls"), "", "", AtMost, 0, none, none},

		{at("F", "program", "modules"), json, "", AtMost, 1 / 4.0, none, none},
		{at("F", "program", "stripped_mb"), json, "", AtMost, 0.6, none, none},
		{at("F", "program", "build_cpu_s"), json, "", AtMost, 0.6, none, none},
		{typed("modules"), json, "", AtMost, 1, none, none},
		{typed("stripped_mb"), json, "", AtMost, 1, none, none},
		{typed("build_cpu_s"), json, "", AtMost, 1, none, none},
		{at("F", "idle informer", "heap_bytes"), "", "", AtMost, 6 << 10, 4 << 10, none},
		{at("F", "idle informer", "goroutines"), "", "", AtMost, 3, 2, none},
	}
}
