package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A release is what goreleaser wrote to a directory.
type release struct {
	dir       string
	Version   string // without v
	Commit    string
	artifacts []artifact
	checksums map[string]string // by file name
}

// An artifact is an entry of artifacts.json.
type artifact struct {
	Name, Path, Goos, Goarch, Type string
}

// readRelease reads what goreleaser and checksums.txt say about the files in a directory.
func readRelease(dir string) (*release, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := &release{dir: dir, checksums: map[string]string{}}
	for name, v := range map[string]any{"metadata.json": r, "artifacts.json": &r.artifacts} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	list, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		r.checksums[name] = sum
	}
	return r, nil
}

// of returns the artifacts of a type.
func (r *release) of(kind string) []artifact {
	return slices.DeleteFunc(slices.Clone(r.artifacts), func(a artifact) bool { return a.Type != kind })
}

// verify checks a release of the present commit, in the root of the repository.
func verify(ctx context.Context, dir string) error {
	out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
	if err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return err
	}
	env, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	return checkRelease(dir, time.Unix(seconds, 0), append(strings.Fields(string(env)), here))
}

// checkRelease checks the files that goreleaser wrote for a commit of the given time:
// their checksums, the archives and their binaries, the SPDX documents and the manifests
// for Homebrew and Scoop. No binary may contain one of the directories.
func checkRelease(dir string, committed time.Time, directories []string) error {
	r, err := readRelease(dir)
	if err != nil {
		return err
	}
	errs := []error{r.checkChecksums()}
	archives := r.of("Archive")
	if n := len(r.of("Binary")); n == 0 || len(archives) != n || len(r.of("SBOM")) != n {
		errs = append(errs, fmt.Errorf("%d binaries, %d archives, %d SPDX documents", n, len(archives), len(r.of("SBOM"))))
	}
	var first archive
	for _, a := range archives {
		name := fmt.Sprintf("fleetc_%s_%s_%s", r.Version, a.Goos, a.Goarch)
		suffix := ".tar.gz"
		if a.Goos == "windows" {
			suffix = ".zip"
		}
		if a.Name != name+suffix {
			errs = append(errs, fmt.Errorf("%s is not called %s", a.Name, name+suffix))
		}
		content, err := readArchive(filepath.Join(dir, a.Name))
		if err == nil {
			err = errors.Join(content.check(a, committed), checkBinary(content.program(a), a, r.Commit, directories),
				checkDocument(filepath.Join(dir, name+".spdx.json"), content.program(a)))
		}
		if first == nil {
			first = content
		}
		if err == nil {
			err = content.sameFiles(first)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.Name, err))
		}
	}
	return errors.Join(append(errs, r.checkManifests())...)
}

// checkChecksums checks that checksums.txt has the digest of every file for users.
func (r *release) checkChecksums() error {
	var errs []error
	for _, a := range r.artifacts {
		if a.Type != "Archive" && a.Type != "Linux Package" && a.Type != "SBOM" {
			continue
		}
		if strings.Contains(a.Name, "~") {
			errs = append(errs, fmt.Errorf("GitHub would replace ~ in the name of %s, which checksums.txt has", a.Name))
		}
		data, err := os.ReadFile(filepath.Join(r.dir, a.Name))
		if err != nil {
			return err
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != r.checksums[a.Name] {
			errs = append(errs, fmt.Errorf("%s has the digest %s, checksums.txt says %q", a.Name, got, r.checksums[a.Name]))
		}
	}
	return errors.Join(errs...)
}

// checkManifests checks that the manifests for Homebrew and Scoop have the digests of
// the archives that they install.
func (r *release) checkManifests() error {
	var errs []error
	for _, a := range r.of("Archive") {
		kind := "Homebrew Cask"
		if a.Goos == "windows" {
			kind = "Scoop Manifest"
		}
		manifests := r.of(kind)
		if len(manifests) != 1 {
			errs = append(errs, fmt.Errorf("%d files of type %s", len(manifests), kind))
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(r.dir), manifests[0].Path))
		if err != nil {
			return err
		}
		// The cask computes the URL from its version, the system and the architecture.
		if !bytes.Contains(text, []byte(r.checksums[a.Name])) || kind == "Scoop Manifest" && !bytes.Contains(text, []byte("/"+a.Name+`"`)) {
			errs = append(errs, fmt.Errorf("%s does not install %s", manifests[0].Name, a.Name))
		}
	}
	return errors.Join(errs...)
}

// An archive has the files of an archive by name.
type archive map[string]archiveFile

type archiveFile struct {
	mode  fs.FileMode
	owner string // user and group, of tar archives
	time  time.Time
	data  []byte
}

func readArchive(file string) (archive, error) {
	if strings.HasSuffix(file, ".zip") {
		return readZip(file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	out := archive{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		out[h.Name] = archiveFile{h.FileInfo().Mode(), h.Uname + ":" + h.Gname, h.ModTime, data}
	}
}

func readZip(file string) (archive, error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	out := archive{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		out[f.Name] = archiveFile{f.Mode(), "root:root", f.Modified, data}
	}
	return out, nil
}

func programName(a artifact) string {
	if a.Goos == "windows" {
		return "fleetc.exe"
	}
	return "fleetc"
}

func (c archive) program(a artifact) []byte { return c[programName(a)].data }

// required are files that every archive has besides the program.
var required = []string{
	"LICENSE", "LICENSES.txt", "README.md", "CHANGELOG.md",
	"completion/fleetc.bash", "completion/fleetc.zsh", "completion/fleetc.fish", "completion/fleetc.ps1",
	"man/fleetc.1.gz", "man/fleetc-export.1.gz", "man/fleetc-chart-add.1.gz",
	"charts/plain/Chart.yaml", "charts/plain/templates/deployment.yaml", "charts/hello/Chart.yaml", "charts/hello/.helmignore",
}

// check checks names, modes, owners and times.
func (c archive) check(a artifact, committed time.Time) error {
	var errs []error
	for _, name := range append([]string{programName(a)}, required...) {
		if len(c[name].data) == 0 {
			errs = append(errs, fmt.Errorf("no file %s", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		f, mode := c[name], fs.FileMode(0o644)
		if name == programName(a) {
			mode = 0o755
		}
		if f.mode != mode || f.owner != "root:root" || !f.time.Equal(committed) {
			errs = append(errs, fmt.Errorf("%s: %v, %s, %v; want %v, root:root, %v", name, f.mode, f.owner, f.time.UTC(), mode, committed.UTC()))
		}
	}
	return errors.Join(errs...)
}

// sameFiles checks that two archives differ only in the program.
func (c archive) sameFiles(other archive) error {
	text := func(c archive) map[string]string {
		out := map[string]string{}
		for name, f := range c {
			if name != "fleetc" && name != "fleetc.exe" {
				out[name] = string(f.data)
			}
		}
		return out
	}
	if !maps.Equal(text(c), text(other)) {
		return errors.New("the files beside the program differ from those of the first archive")
	}
	return nil
}

// checkBinary checks the format, the architecture and the build information of a program.
func checkBinary(data []byte, a artifact, commit string, directories []string) error {
	machine, err := machineOf(data)
	if err != nil {
		return err
	}
	errs := []error{}
	if want := a.Goos + "/" + a.Goarch; machine != want {
		errs = append(errs, fmt.Errorf("the program is for %s, not for %s", machine, want))
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	settings := buildSettings(info)
	for key, want := range map[string]string{"vcs.revision": commit, "vcs.modified": "false", "CGO_ENABLED": "0", "-trimpath": "true", "GOOS": a.Goos, "GOARCH": a.Goarch} {
		if settings[key] != want {
			errs = append(errs, fmt.Errorf("the program was built with %s=%s, not %s", key, settings[key], want))
		}
	}
	for _, dir := range directories {
		if i := bytes.Index(data, []byte(dir+"/")); i >= 0 {
			errs = append(errs, fmt.Errorf("the program contains a path of this machine: %q", data[i:min(i+80, len(data))]))
		}
	}
	return errors.Join(errs...)
}

// machineOf returns the system and architecture that an executable file is for. A macOS
// program for arm64 must have a signature, without which macOS does not start it.
func machineOf(data []byte) (string, error) {
	r := bytes.NewReader(data)
	if f, err := elf.NewFile(r); err == nil {
		return "linux/" + map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine], nil
	}
	if f, err := pe.NewFile(r); err == nil {
		return "windows/" + map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}[f.Machine], nil
	}
	f, err := macho.NewFile(r)
	if err != nil {
		return "", errors.New("the program is not an ELF, PE or Mach-O file")
	}
	const codeSignature = 0x1d // LC_CODE_SIGNATURE
	signed := slices.ContainsFunc(f.Loads, func(l macho.Load) bool { return f.ByteOrder.Uint32(l.Raw()) == codeSignature })
	if f.Cpu == macho.CpuArm64 && !signed {
		return "", errors.New("the program for macOS has no signature")
	}
	return "darwin/" + map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu], nil
}

// checkDocument checks that an SPDX document describes a program.
func checkDocument(file string, program []byte) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(program))
	for _, want := range []string{`"spdxVersion": "SPDX-2.3"`, `"checksumValue": "` + digest + `"`} {
		if !strings.Contains(string(text), want) {
			return fmt.Errorf("%s does not contain %s", filepath.Base(file), want)
		}
	}
	return nil
}
