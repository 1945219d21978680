package chart

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestCheckRef(t *testing.T) {
	s := source(t)
	sum := digest(nil)
	for name, c := range map[string]struct {
		ref  fleet.ChartRef
		want []string
	}{
		"no digest":        {fleet.ChartRef{Repo: "https://h", Name: "web", Version: "1.0.0"}, []string{`the digest ""`, "fleetc chart add https://h/web --version 1.0.0"}},
		"digest of a path": {fleet.ChartRef{Repo: "https://h", Name: "web", Version: "1.0.0", Digest: "sha256:../../../etc/passwd"}, []string{"64 hexadecimal digits"}},
		"long digest":      {fleet.ChartRef{Repo: "https://h", Name: "web", Version: "1.0.0", Digest: sum + "0"}, []string{"64 hexadecimal digits"}},
		"name of a path":   {fleet.ChartRef{Repo: "https://h", Name: "../web", Version: "1.0.0", Digest: sum}, []string{"is not a valid chart name"}},
		"range":            {fleet.ChartRef{Repo: "https://h", Name: "web", Version: "^1", Digest: sum}, []string{"is not an exact version"}},
		"scheme":           {fleet.ChartRef{Repo: "file:///etc", Name: "web", Version: "1.0.0", Digest: sum}, []string{`the scheme "file"`}},
		"password":         {fleet.ChartRef{Repo: "https://me:hunter2@h/x", Name: "web", Version: "1.0.0", Digest: sum}, []string{"the URL of h has credentials", "helm repo add"}},
		"token as user":    {fleet.ChartRef{Repo: "https://hunter2@h/x", Name: "web", Version: "1.0.0", Digest: sum}, []string{"has credentials"}},
		"registry":         {fleet.ChartRef{Repo: "oci://me:hunter2@h/x", Name: "web", Version: "1.0.0", Digest: sum}, []string{"has credentials", "docker login"}},
		"bad URL":          {fleet.ChartRef{Repo: "https://me:hunter2@h:x/\x7f", Name: "web", Version: "1.0.0", Digest: sum}, []string{"invalid URL"}},
		"query":            {fleet.ChartRef{Repo: "https://h/?token=hunter2", Name: "web", Version: "1.0.0", Digest: sum}, []string{"a query or a fragment"}},
		"nothing":          {fleet.ChartRef{Digest: sum}, []string{"the scheme of the URL is missing"}},
		"git fragment":     {fleet.ChartRef{Git: fleet.GitRef{URL: "https://h/x#y", Ref: "main"}, Digest: sum}, []string{"a query or a fragment"}},
		"git host":         {fleet.ChartRef{Git: fleet.GitRef{URL: "file://h/x", Ref: "main"}, Digest: sum}, []string{"invalid URL"}},
		"git user":         {fleet.ChartRef{Git: fleet.GitRef{URL: "ssh://git:hunter2@h/x", Ref: "main"}, Digest: sum}, []string{"credential helper"}},
		"git option":       {fleet.ChartRef{Git: fleet.GitRef{URL: "https://h/x", Ref: "-x"}, Digest: sum}, []string{"is not a git ref"}},
		"git force":        {fleet.ChartRef{Git: fleet.GitRef{URL: "https://h/x", Ref: "+x"}, Digest: sum}, []string{"is not a git ref"}},
		"no git ref":       {fleet.ChartRef{Git: fleet.GitRef{URL: "https://h/x"}, Digest: sum}, []string{"is not a git ref"}},
		"git path":         {fleet.ChartRef{Git: fleet.GitRef{URL: "https://h/x", Ref: "main", Path: "/a"}, Digest: sum}, []string{"is not a path in a git repository"}},
		"unclean git path": {fleet.ChartRef{Git: fleet.GitRef{URL: "https://h/x", Ref: "main", Path: "a//b"}, Digest: sum}, []string{"is not a path in a git repository"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Chart(t.Context(), c.ref)
			wantFault(t, err, c.want...)
			wantFault(t, s.Verify(t.Context(), c.ref), c.want...)
			if strings.Contains(err.Error(), "hunter2") && !strings.Contains(c.ref.String(), "@main") {
				t.Errorf("a secret in %v", err)
			}
		})
	}
	if err := checkGit(fleet.GitRef{URL: "ssh://git@h/x", Ref: "a/b-1.0+x@y"}); err != nil {
		t.Errorf("a user of ssh: %v", err)
	}
}

func TestOneLine(t *testing.T) {
	for s, want := range map[string]string{
		" a\n\tb  c ":              "a b c",
		"a\x1b[31m\u202eb\xff\x00": "a[31mb",
		strings.Repeat("é", 400):   strings.Repeat("é", 300) + "...",
	} {
		if got := oneLine(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
