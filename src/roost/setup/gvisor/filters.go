// Command filters compiles the seccomp programs of Roost's flags into the
// source of runsc, which otherwise compiles them at every start. Upstream's
// release builds do the same for the flags of everybody, which takes a minute.
// Its argument is the root of the module.
package main

import (
	"log"
	"os"
	"strings"

	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/pkg/sentry/platform"
	sentry "gvisor.dev/gvisor/runsc/boot/filter/config"
	gofer "gvisor.dev/gvisor/runsc/fsgofer/filter/config"
)

func main() {
	check(os.Chdir(os.Args[1]))
	register("runsc/boot/filter/filter_precompiled.go", sentryPrograms())
	register("runsc/fsgofer/filter/filter_precompiled.go", goferPrograms())
}

// sentryPrograms are those for --platform=systrap --network=sandbox.
func sentryPrograms() []precompiledseccomp.Program {
	systrap, err := platform.Lookup("systrap")
	check(err)
	var programs []precompiledseccomp.Program
	for _, info := range systrap.PrecompiledSeccompInfo() {
		program, err := sentry.Precompile(sentry.Options{Platform: info, HostFilesystem: true})
		check(err)
		programs = append(programs, program)
	}
	return programs
}

// goferPrograms are those for --directfs and no sockets of the host.
func goferPrograms() []precompiledseccomp.Program {
	all, err := gofer.PrecompiledPrograms()
	check(err)
	var programs []precompiledseccomp.Program
	for _, lisafs := range []bool{false, true} {
		wanted := gofer.Options{DirectFS: true, LisafsNeeded: lisafs}.ConfigKey()
		for _, program := range all {
			if program.Name == wanted {
				programs = append(programs, program)
			}
		}
	}
	return programs
}

// register writes the programs into the file that keeps a map of them.
func register(file string, programs []precompiledseccomp.Program) {
	const start = "\tprograms := make(map[string]precompiledseccomp.Program)\n"
	source, err := os.ReadFile(file)
	check(err)
	before, after, found := strings.Cut(string(source), start)
	if !found || len(programs) == 0 {
		log.Fatalf("%s: no place for programs, or no programs (%d)", file, len(programs))
	}
	var made strings.Builder
	made.WriteString(before + start)
	for _, program := range programs {
		made.WriteString(program.Registration("\t", "precompiledseccomp", "programs"))
	}
	made.WriteString(after)
	check(os.WriteFile(file, []byte(made.String()), 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
