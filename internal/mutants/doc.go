// Package mutants breaks the library on purpose, in one small way at a time, and shows that the
// tests notice. What is broken, what that stands for and who must notice is data, in
// testdata/*.txt; the tool compiles the changed text by go's -overlay, so no file of the
// repository is ever touched.
//
//	make mutants                          # all of them, two at a time
//	make mutants ONLY='deltafifo-.*' REPORT=report.md
//	go test ./internal/mutants -run '^TestMutants$' -v -timeout 0 -mutants -mutants.only=planted
//
// Without -mutants the same test only checks that every mutant still fits the source and names
// tests, scenarios and guarantees that exist.
//
// # Format
//
// Lines that begin with # and empty lines are skipped. A mutant is
//
//	== deltafifo-tombstone-ignored
//	why: a snapshot does not see that a delete is queued, and brings the object back
//	scenarios: 1, 2
//	guarantees: deltafifo 4, informer 2
//	test: deltafifo TestReplaceAfterQueuedDelete TestShortLivedObjectIsSwept
//	test: informer TestListBehindQueuedChanges -race -count 3
//	file: deltafifo/view.go
//	-	for i := range queued {
//	-		v.apply(&queued[i])
//	-	}
//	+	_ = queued
//	file: deltafifo/pop.go
//	-	q.processed = q.handed
//	+	q.processed = 0
//
// Its name is unique. why says in one line what breaks. scenarios are numbers of CONTRIBUTING.md,
// guarantees numbers of a package's doc.go; there is at least one of either, or of both.
//
// test is a command: a folder, names of tests in it, then flags for go test. A name may go on with
// /subtest when it is the only one. Each command must fail. When there are several tests in a
// command it is enough that one fails, so what each of several tests is to notice is written as
// several commands. A scenario that the mutant stands for needs a command of tests that its row in
// CONTRIBUTING.md names, and of no others.
//
// file says where the lines behind it belong. Lines that begin with - are the old text, whole lines
// that stand in the file exactly once; the + lines behind them take their place. Further - lines
// begin another change of the same file. The changed program must compile.
//
// Optional are
//
//	timeout: 60s            of each command without building, instead of 30s; a hang counts as noticed
//	expect: guarantee 5:    a regular expression that the output of each command must match
//	survives: it is only slower: the entry is found by the second look-up
//
// survives explains why nothing notices, since nothing wrong can be seen. Such a mutant counts
// among the survivors all the same, of which there may be one in twenty. When it is noticed after
// all, the explanation is wrong, which is an error.
package mutants
