package lsp

import (
	"encoding/json"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// This file defines the part of the Language Server Protocol 3.17 that the server uses. Types
// and fields have their names from the protocol.

type initializeParams struct {
	RootURI          string             `json:"rootUri"`
	WorkspaceFolders []workspaceFolder  `json:"workspaceFolders"`
	Capabilities     clientCapabilities `json:"capabilities"`
}

type clientCapabilities struct {
	Workspace struct {
		DidChangeWatchedFiles struct {
			DynamicRegistration bool `json:"dynamicRegistration"`
		} `json:"didChangeWatchedFiles"`
		InlayHint     refreshCapability `json:"inlayHint"`
		CodeLens      refreshCapability `json:"codeLens"`
		WorkspaceEdit struct {
			DocumentChanges    bool     `json:"documentChanges"`
			ResourceOperations []string `json:"resourceOperations"`
		} `json:"workspaceEdit"`
	} `json:"workspace"`
}

type refreshCapability struct {
	RefreshSupport bool `json:"refreshSupport"`
}

type workspaceFolder struct {
	URI string `json:"uri"`
}

type didChangeWorkspaceFoldersParams struct {
	Event struct {
		Added []workspaceFolder `json:"added"`
	} `json:"event"`
}

type textDocument struct {
	URI     string `json:"uri"`
	Version *int   `json:"version"`
	Text    string `json:"text"`
}

type documentParams struct {
	TextDocument textDocument `json:"textDocument"`
}

type didChangeParams struct {
	TextDocument   textDocument    `json:"textDocument"`
	ContentChanges []contentChange `json:"contentChanges"`
}

// contentChange replaces a range of a text, or the whole text without a range.
type contentChange struct {
	Range *textRange `json:"range"`
	Text  string     `json:"text"`
}

type didChangeWatchedFilesParams struct {
	Changes []struct {
		URI string `json:"uri"`
	} `json:"changes"`
}

type cancelParams struct {
	ID json.RawMessage `json:"id"`
}

// position counts lines and UTF-16 code units from 0.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type relatedInformation struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type diagnostic struct {
	Range              textRange            `json:"range"`
	Severity           int                  `json:"severity"`
	Code               diag.Code            `json:"code,omitempty"`
	CodeDescription    *codeDescription     `json:"codeDescription,omitempty"`
	Source             string               `json:"source"`
	Message            string               `json:"message"`
	RelatedInformation []relatedInformation `json:"relatedInformation,omitempty"`
	Data               any                  `json:"data,omitempty"`
}

// A codeDescription has the address of the page of a code.
type codeDescription struct {
	Href string `json:"href"`
}

type publishDiagnosticsParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}
