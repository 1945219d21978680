package load

import (
	"errors"
	"io/fs"
	"path"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// SourcesFile pins the remote sources of kustomizations. The path is relative
// to the fleet's root.
const SourcesFile = environments + "/" + charts + "/sources.cue"

// Sources returns the pinned sources of the fleet at root, by address.
func Sources(root string) (map[string]fleet.RemoteSource, error) {
	data, err := Edits(nil).read(root, SourcesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	invalid := func(cause error) error {
		return &diag.Diag{
			Code: diag.CodeGeneratedFile,
			At:   []diag.Pos{{File: SourcesFile}}, Msg: "this file does not have the format that fleetc source add writes",
			Hint: "remove it, and run fleetc source add", Cause: cause,
		}
	}
	parsed, err := ParseFile(path.Base(SourcesFile), data)
	if err != nil {
		return nil, invalid(err)
	}
	field := fieldOf(parsed.Decls, "sources")
	if field == nil || !isData(field.Value) {
		return nil, invalid(nil)
	}
	pins := map[string]sourcePin{}
	value := cuecontext.New().BuildExpr(field.Value)
	if err := value.Validate(cue.Concrete(true)); err != nil {
		return nil, invalid(err)
	}
	if err := value.Decode(&pins); err != nil {
		return nil, invalid(err)
	}
	out := map[string]fleet.RemoteSource{}
	for address, p := range pins {
		out[address] = p.source(address)
	}
	return out, nil
}

// A sourcePin is the pin of one address, as the file has it.
type sourcePin struct {
	Digest string         `json:"digest"`
	Chart  fleet.ChartPin `json:"chart"`
	Git    struct {
		fleet.GitRef
		Dirs []string `json:"dirs"`
	} `json:"git"`
}

// source returns the pinned source.
func (p *sourcePin) source(address string) fleet.RemoteSource {
	src := fleet.RemoteSource{Address: address, Digest: p.Digest, Dirs: p.Git.Dirs, Git: p.Git.GitRef}
	if c := p.Chart; c.Repo != "" {
		src.Chart = fleet.ChartRef{Repo: c.Repo, Name: c.Name, Version: c.Version, Digest: p.Digest, Dependencies: fleet.NewDigests(c.Dependencies)}
	}
	return src
}
