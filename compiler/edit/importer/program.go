package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/source"
)

// Programs that can render the expected side of a proof.
const (
	HelmProgram      = "helm"
	KustomizeProgram = "kustomize"
	HelmfileProgram  = "helmfile"
)

// Programs are the names of the programs that render the expected side of a proof. The
// engines of fleetc render the rest.
type Programs []string

// Has reports whether a program renders the expected side.
func (p Programs) Has(name string) bool { return slices.Contains(p, name) }

// ParsePrograms checks that an import can use the named programs, and that they are in PATH.
func ParsePrograms(names, allowed []string) (Programs, error) {
	for _, name := range names {
		if !slices.Contains(allowed, name) {
			return nil, &diag.Diag{
				Code: diag.CodeFlagValue,
				Msg:  fmt.Sprintf("--prove-with does not accept %q", diag.Visible(name, diag.MaxText)),
				Hint: "write --prove-with " + strings.Join(allowed, " or ") + ", or leave it out: fleetc renders the expected side with its own engines",
			}
		}
		if _, err := exec.LookPath(name); err != nil {
			return nil, &diag.Diag{Code: diag.CodeProgram, Msg: "the program " + name + " is not in PATH", Hint: "install it, or leave --prove-with out", Cause: err}
		}
	}
	return names, nil
}

// runProgram runs a program in a directory with the given environment, or that of the
// process if it is nil, and returns its output. The error has the first lines that the
// program prints about it, without the directory.
func runProgram(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr TemplateOutput
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	git.Detach(cmd)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		text := strings.TrimSpace(strings.NewReplacer(dir+string(filepath.Separator), "", dir, ".").Replace(stderr.String()))
		if _, ok := errors.AsType[*exec.ExitError](err); !ok || text == "" {
			text = err.Error()
		}
		return "", fmt.Errorf("%s %s failed: %s", name, args[0], diag.Brief(errors.New(text)))
	}
	return stdout.String(), nil
}

// templateWithHelm returns the objects that helm template prints for a release with values. hooks are
// the hooks that an apply does not run, which are left out.
func templateWithHelm(ctx context.Context, c *fleet.Cluster, r *fleet.Release, skipCRDs bool, values any, ch *fleet.Chart, apis []string, hooks []fleet.Object) ([]fleet.Object, error) {
	dir, err := os.MkdirTemp("", "fleetc-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	chartDir := filepath.Join(dir, "chart")
	if err := writeTree(chartDir, ch.Files); err != nil {
		return nil, err
	}
	valuesFile := filepath.Join(dir, "values.yaml")
	if err := writeYAML(valuesFile, values); err != nil {
		return nil, err
	}
	args := []string{"template", r.Name, chartDir, "--namespace", r.Namespace, "--kube-version", c.KubeVersion, "--values", valuesFile, "--skip-schema-validation"}
	args = append(args, setOptions("", values)...)
	if !skipCRDs {
		args = append(args, "--include-crds")
	}
	for _, api := range apis {
		args = append(args, "--api-versions", api)
	}
	printed, err := runProgram(ctx, dir, nil, HelmProgram, args...)
	if err != nil {
		return nil, err
	}
	objs, err := printedObjects(printed, r)
	return withoutHooks(objs, hooks), err
}

// withoutHooks returns objects without the given hooks.
func withoutHooks(objs, hooks []fleet.Object) []fleet.Object {
	return slices.DeleteFunc(objs, func(o fleet.Object) bool {
		return slices.ContainsFunc(hooks, func(hook fleet.Object) bool { return hook.ID() == o.ID() && fleet.IsHook(o.Unstructured) })
	})
}

// A Build is the result of building a kustomization.
type Build struct {
	Objects   []fleet.Object
	Reads     []string  // names of the files that the build read
	Unmatched diag.List // patches and other entries without a target
	Differs   string    // how the objects of the kustomize program differ; empty if they do not, or it does not run
}

// Build builds the kustomization in a directory below root, as BuildAsKustomize does, and
// compares the objects with those of the kustomize program if that is one of p. Remote
// resources are faults if remotes is nil.
func (p Programs) Build(ctx context.Context, root, dir string, remotes source.KustomizeRemotes) (Build, error) {
	r := &fleet.Release{}
	var b Build
	var err error
	if b.Objects, b.Reads, b.Unmatched, err = source.BuildAsKustomize(ctx, root, dir, r, source.KustomizeInputs{Remotes: remotes}); err != nil || !p.Has(KustomizeProgram) {
		return b, err
	}
	var printed []fleet.Object
	// A path that begins with a dash must not be a flag.
	text, err := runProgram(ctx, root, nil, KustomizeProgram, "build", "--load-restrictor", "LoadRestrictionsNone", "."+string(filepath.Separator)+filepath.FromSlash(dir))
	if err == nil {
		printed, err = printedObjects(text, r)
	}
	if ctx.Err() != nil {
		return b, ctx.Err()
	}
	if err != nil {
		b.Differs = diag.Brief(err)
		return b, nil
	}
	if changes := differences(diff.Objects(printed, b.Objects, nil)); len(changes) > 0 {
		b.Differs = "kustomize builds different objects: " + strings.Join(changes, "; ")
	}
	return b, nil
}

// writeYAML writes a value to a file that only the user can read.
func writeYAML(file string, v any) error {
	text, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// writeTree writes the files of a chart into a directory, which it makes.
func writeTree(dir string, files []fleet.File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		name := filepath.FromSlash(f.Name)
		if err := errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), root.WriteFile(name, f.Data, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// crdSource matches the comment that Helm prints above a file in the crds directory of a
// chart or of a dependency.
var crdSource = regexp.MustCompile(`^# Source: [^/\n]+(/charts/[^/\n]+)*/crds/`)

// printedObjects returns the objects of YAML documents. Those of a crds directory are
// marked by the comment that Helm prints.
func printedObjects(text string, r *fleet.Release) ([]fleet.Object, error) {
	var out []fleet.Object
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(doc+"\n"), &content); err != nil {
			return nil, fmt.Errorf("the program prints invalid YAML: %s", diag.Brief(err))
		}
		if content == nil {
			continue
		}
		isCRD := crdSource.MatchString(strings.TrimLeft(doc, "\n"))
		o := &unstructured.Unstructured{Object: content}
		if !o.IsList() {
			out = append(out, fleet.Object{Unstructured: o, Release: r, CRD: isCRD})
			continue
		}
		err := o.EachListItem(func(item runtime.Object) error {
			out = append(out, fleet.Object{Unstructured: item.(*unstructured.Unstructured), Release: r, CRD: isCRD})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
