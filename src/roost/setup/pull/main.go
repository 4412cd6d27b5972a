// Command roost-pull brings an image of a registry onto this machine.
//
// It reads one request as JSON from its standard input and writes one answer
// as JSON to its standard output. `resolve` says which image a reference
// means; `unpack` writes its files into a directory. Each layer is unpacked
// by a process of its own (`apply`) that sees nothing but that directory.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"
)

const mostRequestBytes = 1 << 20

// request is what the node asks for. Hosts are written as in references: with a port where they have one.
type request struct {
	Action       string              `json:"action"` // resolve or unpack
	Reference    string              `json:"reference"`
	Into         string              `json:"into"` // an empty directory
	LimitBytes   int64               `json:"limit_bytes"`
	LimitEntries int64               `json:"limit_entries"`
	TimeoutS     float64             `json:"timeout_s"` // for all of it
	StallS       float64             `json:"stall_s"`   // for the registry to say anything at all
	DockerConfig string              `json:"docker_config"`
	Mirrors      map[string][]string `json:"mirrors"`
	Insecure     []string            `json:"insecure"`
	Private      []string            `json:"private"`
}

// answer is what became of it.
type answer struct {
	Digest  string          `json:"digest,omitempty"`
	Config  json.RawMessage `json:"config,omitempty"`
	Bytes   int64           `json:"bytes"`
	Entries int64           `json:"entries"`
	LeftOut int64           `json:"left_out"` // device nodes, and attributes that are no business of a guest's
	Error   *failure        `json:"error,omitempty"`
}

func main() {
	// Whoever asked is gone: nobody would take the answer.
	syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	if len(os.Args) == 2 && os.Args[1] == "apply" {
		applyMain()
		return
	}
	var asked request
	if err := readJSON(os.Stdin, mostRequestBytes, &asked); err != nil {
		tell(answer{Error: &failure{Fault, fmt.Sprintf("the request cannot be read: %v", err)}})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(asked.TimeoutS*float64(time.Second)))
	defer cancel()
	told, err := serve(ctx, asked)
	if err != nil {
		told = answer{Error: classify(ctx, err)}
	}
	tell(told)
}

func serve(ctx context.Context, asked request) (answer, error) {
	found, err := find(ctx, asked)
	if err != nil {
		return answer{}, err
	}
	if asked.Action == "resolve" {
		return answer{Digest: found.digest.String()}, nil
	}
	config, err := found.config()
	if err != nil {
		return answer{}, err
	}
	done, err := unpack(ctx, asked, found)
	if err != nil {
		return answer{}, err
	}
	return answer{Digest: found.digest.String(), Config: config, Bytes: done.Bytes, Entries: done.Entries, LeftOut: done.LeftOut}, nil
}

func tell(told answer) {
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		os.Exit(2)
	}
	if told.Error != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
