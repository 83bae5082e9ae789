// Package jsonstream cuts JSON values out of a stream without decoding them.
//
// It finds where a value ends, and on the way notes where named members stand, in one pass
// over a buffer that is reused. It checks the structure that it needs for that (brackets that
// match, strings that end, separators of the objects it looks into) and leaves the rest to
// whoever decodes the bytes.
//
// # Usage
//
// A [Scanner] reads values: Cut takes one as bytes with the fields of a [Shape], Object and
// Array walk into one, Skip passes one over, End makes sure that nothing follows. [Head], [Find] and
// [Compact] are for values that are in memory.
//
// # Guarantees
//
//  1. Of valid JSON it finds the ends and the fields that encoding/json finds, in whatever
//     pieces it comes. (TestCutNotesFields, FuzzCut)
//  2. A stream that ends within a value is io.ErrUnexpectedEOF. (TestCutTruncated)
//  3. What cannot be cut is a [*SyntaxError]. (TestCutFaults)
//  4. A value over the limit is passed over, in the memory of one at the limit, and its short
//     fields are still found. (TestCutTooLarge, TestTooLargeCostsNoMemory)
//  5. The stream is never read while a whole value is there, and before is called first.
//     (TestErrorsOfTheStreamAndOfBefore)
//  6. Of valid JSON in memory [Find] and [Compact] make what encoding/json makes of it. (FuzzValid)
//
// # Concurrency
//
// A Scanner is for one goroutine at a time; a Shape may be shared.
//
// # Testing
//
// FuzzCut compares with encoding/json.
package jsonstream
