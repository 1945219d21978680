package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// Artifacts compiles the clusters and yields the artifact of each in the order of IDs. An
// artifact has the files that an export to the tree writes to the cluster's directory.
// Their content is below dir, which must exist as long as the artifacts are used. allowExec
// says whether secrets may run commands. from has the fields of the provenance that all
// artifacts share.
func Artifacts(ctx context.Context, f *compiler.Fleet, layout fleet.Layout, tree *export.Tree, dir string, allowExec bool, from export.Provenance) iter.Seq2[*export.Artifact, error] {
	resolver, sizes := NewSecretResolver(f.Fleet, allowExec), &chartSizes{}
	return withRules(f, par.Map(ctx, f.Parallel, len(f.Clusters), func(ctx context.Context, i int) (*export.Artifact, error) {
		b, err := exportCluster(ctx, f, f.Clusters[i], layout, resolver, sizes)
		if err != nil {
			return nil, err
		}
		texts, err := tree.Files(b)
		if err != nil {
			return nil, err
		}
		files := make(map[string][]byte, len(texts))
		for name, text := range texts {
			files[name] = text.Bytes()
		}
		provenance := from
		provenance.Fleet, provenance.Cluster, provenance.Digest = f.Module, b.Cluster.ID, b.Digest
		return export.PackArtifact(files, provenance, filepath.Join(dir, strconv.Itoa(i)))
	}))
}

// PushesAtATime limits the parallel requests to a registry.
const PushesAtATime = 8

// PushArtifacts pushes artifacts in parallel and yields the results in their order. The
// error of an artifact does not stop the others.
func PushArtifacts(ctx context.Context, client *export.RegistryClient, artifacts []*export.Artifact, check bool) iter.Seq2[export.PushResult, error] {
	return par.Map(ctx, PushesAtATime, len(artifacts), func(ctx context.Context, i int) (export.PushResult, error) {
		p, err := client.Push(ctx, artifacts[i], check)
		return p, diag.In(artifacts[i].Cluster, err)
	})
}

// LastArtifact returns the objects of a cluster's artifact in a registry for
// [compiler.Fleet.KeepLast]; nil if it has none.
func LastArtifact(ctx context.Context, f *compiler.Fleet, client *export.RegistryClient, cluster string) (objects []fleet.Object, err error) {
	files, err := client.Files(ctx, cluster)
	if files == nil || err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fleetc-")
	if err != nil {
		return nil, diag.NoTempFile(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("unpack the artifact of %s: %w", cluster, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for name, data := range files {
		file := filepath.FromSlash(path.Join(cluster, name))
		err := root.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = root.WriteFile(file, data, 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("unpack the artifact of %s: %w", cluster, err)
		}
	}
	tree := &export.Tree{Dir: dir, Name: git.FilePrefix + "artifact:", Fleet: f.Module}
	return tree.Objects(cluster)
}

// LastValues is [LastArtifact] for random fields with keep. It returns a fault if the cluster has
// artifacts with other tags only: they have the values that new ones would replace.
func LastValues(ctx context.Context, f *compiler.Fleet, client *export.RegistryClient, cluster string) ([]fleet.Object, error) {
	last, err := LastArtifact(ctx, f, client, cluster)
	if last != nil || err != nil {
		return last, err
	}
	other, err := client.OtherTag(ctx, cluster)
	if other == "" || err != nil {
		return nil, err
	}
	r := f.Keeps()
	return nil, &diag.Diag{
		Code: diag.CodeRandomRule, At: []diag.Pos{r.Pos}, Path: r.Path("random"),
		Msg:  "the export would make new random values: the tag does not exist yet, and the last values are in an artifact with another tag, such as " + diag.Visible(other, diag.MaxText),
		Hint: "export to a tag that stays, such as main, or add the tag to the last artifact first, as with crane tag",
	}
}

// Revision returns the current commit of the fleet's repository, and whether the files are
// modified: a tracked file differs, or there is a new file that may belong to a layer. The
// commit is empty if the fleet is not in a commit.
func Revision(ctx context.Context, root string) (commit string, modified bool, err error) {
	commit, modified, err = git.Head(ctx, root)
	if _, ok := errors.AsType[*diag.Diag](err); ok {
		return "", false, nil
	}
	return commit, modified, err
}

// Commits returns the names of the branches and tags of the fleet's git repository,
// sorted.
func Commits(ctx context.Context, c *compiler.Compiler) ([]string, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	return git.RevisionNames(ctx, root)
}
