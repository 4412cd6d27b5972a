package config

import (
	"maps"
	"slices"

	"gvisor.dev/gvisor/pkg/seccomp"
	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
)

// Precompile compiles the seccomp program of one set of options.
// PrecompiledPrograms compiles those of all, which takes a minute.
func Precompile(opt Options) (precompiledseccomp.Program, error) {
	variables := slices.Collect(maps.Keys(opt.Vars()))
	return precompiledseccomp.Precompile(opt.ConfigKey(), variables, func(values precompiledseccomp.Values) *seccomp.Program {
		allowed, denied := rules(opt, values)
		return &seccomp.Program{
			RuleSets: []seccomp.RuleSet{{Rules: denied.Copy()}, {Rules: allowed.Copy(), Action: seccomp.Allow}},
			Options:  SeccompOptions(opt),
		}
	})
}
