// Package commands is the commands of the built-in image. They are a part of the program.
package commands

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Variable is the environment variable that is set where the built-in commands are meant by their names. Its value is
// the name of the image.
const Variable = "RUNTIME_IMAGE"

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// all returns the commands. Each gets its arguments, without its name, and returns its exit code.
func all() map[string]func([]string, streams) int {
	return map[string]func([]string, streams) int{
		"burn": burn, "cat": cat, "echo": echo, "env": env, "exit": exit, "fetch": fetch, "hostname": hostname,
		"pause": pause, "sleep": sleep, "tcp": tcp, "web": web,
	}
}

// Names returns the names of the commands, sorted.
func Names() []string {
	var names []string
	for name := range all() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Has tells whether there is a command.
func Has(name string) bool { return all()[name] != nil }

// Run runs a command, which must be there, and returns its exit code.
func Run(name string, args []string) int {
	return all()[name](args, streams{os.Stdin, os.Stdout, os.Stderr})
}

// fail says what went wrong and returns the exit code for that.
func (s streams) fail(err error) int {
	fmt.Fprintln(s.err, err)
	return 1
}

// usage says how a command is called and returns the exit code for that.
func (s streams) usage(text string) int {
	fmt.Fprintln(s.err, "usage:", text)
	return 2
}

// flags parses the flags of a command.
func (s streams) flags(set *flag.FlagSet, args []string) error {
	set.SetOutput(s.err)
	return set.Parse(args)
}

// ended returns a channel that tells of a signal to end.
func ended() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
	return c
}

// pause waits until it is asked to end.
func pause([]string, streams) int {
	<-ended()
	return 0
}

// sleep waits for a time in seconds, or with a unit.
func sleep(args []string, s streams) int {
	if len(args) != 1 {
		return s.usage("sleep SECONDS | sleep DURATION")
	}
	d, err := time.ParseDuration(args[0])
	if err != nil {
		seconds, numberErr := strconv.ParseFloat(args[0], 64)
		if numberErr != nil {
			return s.fail(err)
		}
		d = time.Duration(min(seconds*float64(time.Second), math.MaxInt64/2))
	}
	<-time.After(d)
	return 0
}

func echo(args []string, s streams) int {
	fmt.Fprintln(s.out, strings.Join(args, " "))
	return 0
}

// env writes the environment, or the value of one variable.
func env(args []string, s streams) int {
	if len(args) > 1 {
		return s.usage("env [NAME]")
	}
	if len(args) == 1 {
		value, found := os.LookupEnv(args[0])
		if !found {
			return 1
		}
		fmt.Fprintln(s.out, value)
		return 0
	}
	for _, e := range sortedEnv() {
		fmt.Fprintln(s.out, e)
	}
	return 0
}

func sortedEnv() []string {
	all := os.Environ()
	slices.Sort(all)
	return all
}

// cat writes files, or its input.
func cat(args []string, s streams) int {
	if len(args) == 0 {
		if _, err := io.Copy(s.out, s.in); err != nil {
			return s.fail(err)
		}
	}
	code := 0
	for _, path := range args {
		if err := catFile(path, s.out); err != nil {
			code = s.fail(err)
		}
	}
	return code
}

func catFile(path string, to io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(to, file)
	return err
}

// name returns what the pod calls itself. Without a UTS namespace the kernel does not know it.
func name() string {
	if h := os.Getenv("HOSTNAME"); h != "" {
		return h
	}
	h, _ := os.Hostname()
	return h
}

func hostname(_ []string, s streams) int {
	fmt.Fprintln(s.out, name())
	return 0
}

// exit ends with a code.
func exit(args []string, s streams) int {
	if len(args) != 1 {
		return s.usage("exit CODE")
	}
	code, err := strconv.Atoi(args[0])
	if err != nil {
		return s.fail(err)
	}
	return code
}

// burn uses a part of a CPU, and memory, until it is asked to end.
func burn(args []string, s streams) int {
	set := flag.NewFlagSet("burn", flag.ContinueOnError)
	milli := set.Int("cpu", 1000, "thousandths of a CPU to use")
	memory := set.Int("memory", 0, "bytes to hold")
	if err := s.flags(set, args); err != nil {
		return 2
	}
	if *milli < 0 || *milli > 1000 || *memory < 0 {
		return s.fail(errors.New("burn: -cpu is 0 to 1000, -memory not negative"))
	}
	held := make([]byte, *memory)
	for i := 0; i < len(held); i += 1 << 10 {
		held[i] = 1
	}
	end := ended()
	const slice = 20 * time.Millisecond
	busy := slice * time.Duration(*milli) / 1000
	for {
		for begin := time.Now(); time.Since(begin) < busy; {
		}
		select {
		case <-end:
			runtime.KeepAlive(held)
			return 0
		case <-time.After(slice - busy):
		}
	}
}
