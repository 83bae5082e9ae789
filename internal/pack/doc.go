// Package pack shortens texts that resemble one another.
//
// # Usage
//
// A [Sample] is one text of the kind. [Sample.Pack] turns another into what differs from it, and
// [Sample.Unpack] back. The form is DEFLATE of compress/flate with the sample as preset
// dictionary, or the text as it is when that is not longer. It is for memory, not for files: only
// the same sample reads it.
//
// # Guarantees
//
//  1. Any text comes back as it was, whatever the sample. (TestEveryTextComesBack, FuzzPack)
//  2. What was packed is never longer than the text and one byte. (TestEveryTextComesBack)
//  3. What was not packed by the sample gives an error or another text, and no panic. (FuzzUnpack)
//  4. Unpack into a buffer that is large enough allocates nothing. (TestUnpackAllocatesNothing)
//
// # Concurrency
//
// All is safe for concurrent use. A writer of 1.2 MB and readers of 44 KB are kept from call to call
// until the garbage collector takes them.
package pack
