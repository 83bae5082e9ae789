// Package process is a container runtime without containers' usual tools: containers are processes of this machine.
//
// # Usage
//
//	func main() {
//		process.Reexec() // first
//		...
//		r, err := process.New(process.Options{Dir: "/var/lib/n1", CIDR: netip.MustParsePrefix("10.244.1.0/24")})
//		...
//		defer r.Close()
//	}
//
// See README.md in the folder above for images, built-in commands, and what is made of namespaces and cgroups.
//
// # Guarantees
//
//  1. It acts as every runtime does, with and without the rights of root. (TestConformance)
//  2. Containers of a pod share its loopback, and those of another pod may use the same port. (TestPodsHaveNetworks)
//  3. When the program that uses it is killed, containers run on, and a later one finds them, and what has become of those
//     that have ended. (TestKilled)
//  4. Nothing is left of a sandbox that was removed: no process, mount, link or cgroup. (TestNothingIsLeft)
//  5. What the rights do not suffice for is told, and left out. (TestMissing)
//
// # Concurrency
//
// Everything is safe for concurrent use. A Runtime has a goroutine for each sandbox that is ready; Close waits for them.
//
// # Testing
//
// A test starts this program anew, so that TestMain calls Reexec first. runtimetest.Main does, and gives the test
// a network of its own.
package process
