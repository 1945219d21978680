package deliver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

const (
	maxOutput  = 4 << 20         // of a program, in bytes
	maxRuntime = 2 * time.Minute // of a program
	killAfter  = 5 * time.Second // wait for the output of an ended program
)

// output runs a program in the fleet's root and returns its standard output. The error has
// the end of its standard error, which programs do not use for values; missing is the hint
// for a program that is not installed.
func (r *SecretResolver) output(ctx context.Context, missing string, words ...string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, maxRuntime)
	defer cancel()
	stdout, stderr := &boundedBuffer{most: maxOutput}, &boundedBuffer{most: maxOutput}
	cmd := exec.CommandContext(limited, words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.Dir, stdout, stderr
	git.Detach(cmd)
	cmd.WaitDelay = killAfter
	err := cmd.Run()
	name := diag.Visible(words[0], diag.MaxText)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, &diag.Diag{Code: diag.CodeProgram, Msg: "the program " + name + " is not in PATH", Hint: missing, Cause: err}
	case limited.Err() != nil:
		return nil, &diag.Diag{Code: diag.CodeSecretUnavailable, Msg: fmt.Sprintf("%s did not finish within %s", name, maxRuntime), Hint: "run it by hand; it must not ask for input", Cause: err}
	case stdout.over:
		return nil, &diag.Diag{Code: diag.CodeSecretUnavailable, Msg: fmt.Sprintf("%s prints more than %d MiB", name, maxOutput>>20), Hint: "name a command that prints one value"}
	case err != nil:
		said := cmp.Or(strings.TrimSpace(stderr.data.String()), err.Error())
		return nil, &diag.Diag{Code: diag.CodeSecretUnavailable, Msg: name + " failed: " + diag.Brief(errors.New(said)), Hint: "run it by hand in the fleet's root", Cause: err}
	}
	return stdout.data.Bytes(), nil
}

// A boundedBuffer keeps the first bytes that are written to it, and then takes no more, so
// that the program ends.
type boundedBuffer struct {
	data bytes.Buffer // not embedded: io.Copy would call its ReadFrom
	most int
	over bool // whether there were more
}

// Write implements [io.Writer].
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.data.Len()+len(p) > b.most {
		b.over = true
		return 0, io.ErrShortBuffer
	}
	return b.data.Write(p)
}

// printed returns the value that a command prints, which is run once.
func (r *SecretResolver) printed(ctx context.Context, missing string, words ...string) (string, error) {
	out, err := r.outputs.Get(strings.Join(words, "\x00"), func() ([]byte, error) { return r.output(ctx, missing, words...) })
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(out), "\n"), "\r")
	if value == "" {
		return "", &diag.Diag{Code: diag.CodeSecretUnavailable, Msg: diag.Visible(words[0], diag.MaxText) + " prints no value", Hint: "run it by hand in the fleet's root"}
	}
	return value, nil
}
