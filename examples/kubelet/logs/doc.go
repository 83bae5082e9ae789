// Package logs reads the logs of containers as they are asked for by kubectl logs. A log is a file in the format of the
// Container Runtime Interface: each line has a time, the name of a stream, F or P for a full or a partial line, and text.
//
// # Usage
//
//	options, problems := logs.Parse(request.URL.Query())
//	err := logs.Read(ctx, path, options, logs.Source{Running: running, Changed: changed}, response)
//
// # Guarantees
//
//  1. What was written is read, byte for byte, whatever is selected: the last lines, those since a time, so many bytes.
//     (TestRead)
//  2. A log that is followed is read to its very end, which comes when its container does not run any more. (TestFollow)
//  3. The end of a log is found without reading the whole. (TestTailReadsTheEndOnly)
//  4. A line of any length is read in bounded memory. (TestLongLine)
//
// # Concurrency
//
// Functions may be called by many goroutines at a time. None is left behind.
//
// # Testing
//
// The log is a file that a test writes; a clock in [Source] paces how a file is followed.
package logs
