// Command sentry is the part of runsc that runs a sandbox, alone. runsc
// starts it instead of itself when it lies beside it as
// gvisor-bin/gvisor_sentry: 33 MB of program to map and initialise, not 83.
package main

import (
	"gvisor.dev/gvisor/runsc/cli"
	"gvisor.dev/gvisor/runsc/cmd/sentry/sentrycmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
	"gvisor.dev/gvisor/runsc/gvisorbinaries"
)

func main() {
	commands := map[util.SubCommand]string{
		new(sentrycmd.Boot):   "internal",
		new(sentrycmd.Umount): "internal",
	}
	cli.Run(&gvisorbinaries.GvisorSentry, commands, nil)
}
