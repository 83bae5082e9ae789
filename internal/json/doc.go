// Package json decodes JSON as encoding/json does, in one pass and two to four times as fast.
//
// # Usage
//
// [Unmarshal] stands in for encoding/json's. A [Decoder] does the same with [Options]: it can
// leave fields undecoded, and keep untyped integers exact.
//
// Each type is looked at once, and read by a plan from then on. Strings of up to 64 bytes are
// looked for among those seen lately, so that documents share them. Slices and untyped maps are
// made once, at their final size. What was seen lately is expected next: the field behind a
// field, the string behind a field's string, the length of a type's slices. Where a value stands is reckoned from the offsets of
// fields: memory.go says why that is right.
//
// # Guarantees
//
//  1. What encoding/json reads into a value, this package reads into an equal value, be it a
//     fresh one or one that holds something already. (TestUnmarshalDocuments)
//  2. That is so for struct tags, embedded fields, names in another case, keys that come
//     twice, null, and types that read themselves. (TestUnmarshalMembers)
//  3. It fails when encoding/json fails, also for what is skipped. (TestUnmarshalBrokenDocuments,
//     TestKnownTexts)
//  4. Arrays and objects may be nested 10000 deep, and no deeper. (TestUnmarshalDepth)
//  5. A value that does not fit its field gives a *json.UnmarshalTypeError of encoding/json,
//     and the rest is read; data that ends early gives an error that wraps
//     io.ErrUnexpectedEOF. (TestUnmarshalErrors)
//  6. No part of data is kept. (TestShortStringsAreShared)
//  7. What is kept from call to call is short strings, numbers, small values that an UnmarshalJSON
//     made of short texts, and the texts of a few objects that one was given, within fixed bounds.
//     (TestInternIsBounded, TestMemosAreBounded, TestKnownTextsAreBounded)
//  8. No decoded value is kept besides. (TestResetKeepsNothing)
//  9. A slice that was empty before has no spare capacity. (TestSlicesAreExact,
//     TestSlicesOfLearntLengths)
//  10. A failed or panicked call does not show in later ones. (TestUnmarshalAfterFailure)
//  11. A skipped field is left as it was, and checked for syntax. (TestSkippedIsCheckedAndKept)
//  12. With Integers an untyped int64 is exact. (TestIntegers)
//  13. Calls may run at the same time. (TestUnmarshalConcurrently)
//  14. Values copied from a remembered result share no memory that can be written to.
//     (TestResultsAreRemembered, TestRememberedAreCopies)
//  15. Errors, and what was read into a value that held something, are not remembered.
//     (TestErrorsAreNotRemembered, TestHeldReceiversAreNotRemembered)
//  16. A time that is read without its method is what that makes of it. (TestMoment, TestReadsTime)
//
// What differs from encoding/json:
//   - the texts of errors, and syntax errors, which are a [*SyntaxError];
//   - data is checked while it is read, so a target may be half filled when there is a syntax
//     error behind. After an error, throw it away;
//   - an embedded pointer to an unexported struct that has a name by its tag and is nil is an
//     error, where encoding/json panics;
//   - what an UnmarshalJSON makes of a zero value is taken to depend on the text alone. When that has
//     up to 64 bytes, the type up to 128, and the result has no pointers but strings of up to 64 bytes
//     and a [*time.Location], later values with the same text may be copies, without a call. So
//     change time.Local, which times of Kubernetes objects take over, before the first call;
//   - the Time of k8s.io/apimachinery/pkg/apis/meta/v1 is read without a call when it is written in whole
//     seconds of UTC, as servers do; what it makes of one such text is compared first;
//   - a type's UnmarshalJSON and UnmarshalText must not keep their receiver: elements of
//     slices and maps are moved once they are read, and the place is used again.
//
// Maps with keys that are not strings, and interfaces with methods, are left to encoding/json;
// what they hold is read without Options.
//
// # Concurrency
//
// All is safe for concurrent use. Types' plans are kept for as long as the program runs; what a
// call needs besides is kept for the next one, within fixed bounds.
//
// # Testing
//
// The oracle is encoding/json: tables of odd cases, random values and documents
// (-seed repeats a run), and FuzzUnmarshal compare the two on every target type.
package json
