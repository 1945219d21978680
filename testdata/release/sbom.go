package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// writeSBOM writes an SPDX document for a binary. All of it comes from the
// binary and the licences of its modules, so that equal binaries have equal
// documents.
func writeSBOM(binary, file string, modules []module) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	doc, err := document(filepath.Base(file), info, sha256.Sum256(content), modules)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Write(doc, &out, json.Indent("  ")); err != nil {
		return err
	}
	return os.WriteFile(file, append(bytes.TrimRight(out.Bytes(), "\n"), '\n'), 0o644)
}

// platformOf returns the system and architecture that a binary was built for.
func platformOf(binary string) (string, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", err
	}
	settings := buildSettings(info)
	return settings["GOOS"] + "/" + settings["GOARCH"], nil
}

// buildSettings returns the settings that a binary was built with by name.
func buildSettings(info *debug.BuildInfo) map[string]string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return settings
}

// document returns the SPDX document of a binary.
func document(name string, info *debug.BuildInfo, sum [sha256.Size]byte, modules []module) (*v2_3.Document, error) {
	created, err := commitTime(info)
	if err != nil {
		return nil, err
	}
	digest := hex.EncodeToString(sum[:])
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		DocumentNamespace: "https://" + mainModule + "/sbom/" + digest,
		CreationInfo:      &v2_3.CreationInfo{Created: created, Creators: []common.Creator{{CreatorType: "Tool", Creator: "fleetc-release"}}},
	}
	top := goModule(info.Main.Path, info.Main.Version, []string{"Apache-2.0"})
	top.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: digest}}
	top.PrimaryPackagePurpose = "APPLICATION"
	doc.Packages = append(doc.Packages, top)
	doc.Relationships = append(doc.Relationships, relationship("DOCUMENT", common.TypeRelationshipDescribe, top.PackageSPDXIdentifier))

	licenses := map[string][]string{}
	for _, m := range modules {
		licenses[m.Path+"@"+m.Version] = m.Licenses
	}
	deps := append([]*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
	for _, d := range deps {
		if d.Replace != nil {
			d = d.Replace
		}
		found := licenses[d.Path+"@"+d.Version]
		if found == nil {
			return nil, fmt.Errorf("%s %s is in the binary but not in go.mod", d.Path, d.Version)
		}
		p := goModule(d.Path, d.Version, found)
		if d.Sum != "" {
			p.PackageSourceInfo = "go.sum has " + d.Sum
		}
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, relationship(top.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, p.PackageSPDXIdentifier))
	}
	return doc, nil
}

// commitTime returns the time of the commit that a binary was built from or, for
// a build without git, SOURCE_DATE_EPOCH.
func commitTime(info *debug.BuildInfo) (string, error) {
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			return s.Value, nil
		}
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return "", errors.New("the binary was built without git, and SOURCE_DATE_EPOCH is not set")
	}
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339), nil
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// goModule returns a Go module as a package of SPDX.
func goModule(path, version string, licenses []string) *v2_3.Package {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	if path == "std" {
		purl = "pkg:golang/stdlib@" + version
	}
	license := strings.Join(licenses, " AND ")
	return &v2_3.Package{
		PackageName: path, PackageVersion: version,
		PackageSPDXIdentifier:   common.ElementID("Package-" + notInID.ReplaceAllString(path+"-"+version, "-")),
		PackageDownloadLocation: "NOASSERTION", FilesAnalyzed: false, IsFilesAnalyzedTagPresent: true,
		PackageLicenseConcluded: license, PackageLicenseDeclared: license, PackageCopyrightText: "NOASSERTION",
		PackageExternalReferences: []*v2_3.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: purl}},
	}
}

func relationship(from common.ElementID, kind string, to common.ElementID) *v2_3.Relationship {
	return &v2_3.Relationship{RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: kind}
}
