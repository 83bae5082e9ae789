package mutants

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// defaultTimeout is how long a command may run when the mutant does not say.
const defaultTimeout = 30 * time.Second

// Read returns the mutants in all files *.txt of a folder. All faults are reported.
func Read(folder string) ([]Mutant, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	faults := []error{err}
	var all []Mutant
	where := make(map[string]string)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		faults = append(faults, err)
		name := filepath.Base(path)
		found, err := Parse(name, string(text))
		faults = append(faults, err)
		for _, m := range found {
			if before, twice := where[m.Name]; twice {
				faults = append(faults, fmt.Errorf("%s: there is a %s in %s", name, m.Name, before))
			}
			where[m.Name] = name
		}
		all = append(all, found...)
	}
	return all, errors.Join(faults...)
}

// Parse reads the mutants of one file, whose name is for errors. All faults are reported.
func Parse(name, text string) ([]Mutant, error) {
	var mutants []Mutant
	var faults []error
	file := ""
	for i, line := range strings.Split(text, "\n") {
		fault := func(err error) {
			if err != nil {
				faults = append(faults, fmt.Errorf("%s:%d: %w", name, i+1, err))
			}
		}
		if title, ok := strings.CutPrefix(line, "== "); ok {
			mutants = append(mutants, Mutant{Name: title, Timeout: defaultTimeout})
			file = ""
			continue
		}
		switch {
		case line == "" || line[0] == '#':
		case len(mutants) == 0:
			fault(errors.New("before the first mutant"))
		case line[0] == '-' || line[0] == '+':
			fault(mutants[len(mutants)-1].change(file, line))
		case strings.HasPrefix(line, "file: "):
			file = strings.TrimPrefix(line, "file: ")
		default:
			fault(mutants[len(mutants)-1].set(line))
		}
	}
	for _, m := range mutants {
		if err := m.validate(); err != nil {
			faults = append(faults, fmt.Errorf("%s: %s: %w", name, m.Name, err))
		}
	}
	return mutants, errors.Join(faults...)
}

// change takes a line of a change. A removed line behind an added one begins another change.
func (m *Mutant) change(file, line string) error {
	n := len(m.Hunks)
	fresh := n == 0 || m.Hunks[n-1].File != file
	switch {
	case file == "":
		return errors.New("a change of no file")
	case line[0] == '+' && fresh:
		return errors.New("an added line needs a removed one before it")
	case line[0] == '+':
		m.Hunks[n-1].New += line[1:] + "\n"
		return nil
	case fresh || m.Hunks[n-1].New != "":
		m.Hunks = append(m.Hunks, Hunk{File: file})
		n++
	}
	m.Hunks[n-1].Old += line[1:] + "\n"
	return nil
}

// set takes a line of the form "field: value".
func (m *Mutant) set(line string) (err error) {
	field, value, _ := strings.Cut(line, ": ")
	switch field {
	case "why":
		m.Why = value
	case "scenarios":
		for s := range strings.SplitSeq(value, ", ") {
			n, bad := strconv.Atoi(s)
			err = errors.Join(err, bad)
			m.Scenarios = append(m.Scenarios, n)
		}
	case "guarantees":
		for s := range strings.SplitSeq(value, ", ") {
			folder, number, _ := strings.Cut(s, " ")
			n, bad := strconv.Atoi(number)
			err = errors.Join(err, bad)
			m.Guarantees = append(m.Guarantees, Guarantee{Folder: folder, Number: n})
		}
	case "test":
		m.Tests = append(m.Tests, parseTest(value))
	case "timeout":
		m.Timeout, err = time.ParseDuration(value)
	case "expect":
		m.Expect, err = regexp.Compile(value)
	case "survives":
		m.Survives = value
	default:
		err = fmt.Errorf("no such field: %q", line)
	}
	return err
}

func parseTest(text string) Test {
	words := strings.Fields(text)
	t := Test{Folder: words[0]}
	for i, word := range words[1:] {
		if word[0] == '-' {
			t.Flags = words[i+1:]
			break
		}
		t.Names = append(t.Names, word)
	}
	return t
}

func (m Mutant) validate() error {
	var faults []error
	fault := func(bad bool, what string) {
		if bad {
			faults = append(faults, errors.New(what))
		}
	}
	fault(m.Name == "" || strings.ContainsAny(m.Name, " /"), "the name is not one word")
	fault(m.Why == "", "why is missing")
	fault(len(m.Scenarios)+len(m.Guarantees) == 0, "it stands for no scenario and no guarantee")
	fault(len(m.Tests) == 0, "no test is named")
	fault(len(m.Hunks) == 0, "nothing is changed")
	fault(m.Timeout <= 0, "the timeout is not positive")
	for _, t := range m.Tests {
		fault(len(t.Names) == 0, "a command without tests")
		fault(len(t.Names) > 1 && strings.Contains(strings.Join(t.Names, ""), "/"), "a subtest is not the only test of its command")
	}
	return errors.Join(faults...)
}
