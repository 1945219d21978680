// Package lsp is a language server for the files of fleets. It runs next to the CUE language
// server, and reports the faults of the whole fleet while the user types.
//
// It compiles unsaved texts with an incremental session for each fleet. Rendering runs when
// a file is saved.
//
// It is large because each request of the protocol has its own file, such as hover.go.
// They share the workspace and its snapshots.
package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"

	"github.com/fleetc/fleetc/compiler"
)

// maxRequests limits the requests that run at a time. Several wait for the first check of
// their fleet, and must not keep the server from reading changes and cancellations.
const maxRequests = 32

// Options are the parts of the server that the caller provides.
type Options struct {
	Version string

	// Compiler returns the compiler of the fleet at a root.
	Compiler func(root string) *compiler.Compiler

	// Render renders a fleet without faults, and returns the faults of vet --render.
	Render func(ctx context.Context, f *compiler.Fleet) error
}

// ErrNoShutdown is returned when the client exits without a shutdown request.
var ErrNoShutdown = errors.New("the editor ended the session without a shutdown request")

// server is a session with one client.
type server struct {
	Options
	rpc        *jrpc2.Server
	ctx        context.Context // ends with the session
	exit       chan struct{}   // closed when the client sent exit
	evaluation lock            // held while a fleet is evaluated: one at a time

	mu       sync.Mutex
	docs     map[string]*document // open files by path
	checkers map[string]*checker  // by root
	shutdown bool                 // whether the client requested a shutdown
	done     sync.WaitGroup       // checkers that run
	client   clientCapabilities
	exitOnce sync.Once
}

// document is an open file.
type document struct {
	uri     string
	version *int
	text    string
}

// Serve serves one client until it ends the session or closes the input.
func Serve(ctx context.Context, in io.Reader, out io.WriteCloser, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{
		Options: o, ctx: ctx, exit: make(chan struct{}), evaluation: newLock(),
		docs: map[string]*document{}, checkers: map[string]*checker{},
	}
	s.rpc = jrpc2.NewServer(s.methods(), &jrpc2.ServerOptions{
		AllowPush: true, DisableBuiltin: true, NewContext: func() context.Context { return ctx },
		Concurrency: maxRequests,
	})
	s.rpc.Start(newFraming(in, out))
	closed := make(chan error, 1)
	go func() { closed <- s.rpc.Wait() }() // which reads until the input ends
	var err error
	select {
	case err = <-closed:
	case <-ctx.Done():
	case <-s.exit:
		s.mu.Lock()
		if !s.shutdown {
			err = ErrNoShutdown
		}
		s.mu.Unlock()
	}
	cancel()
	s.done.Wait()
	return err
}

// methods returns the handlers of requests and notifications.
func (s *server) methods() handler.Map {
	methods := handler.Map{
		"initialize":  handler.New(s.initialize),
		"initialized": handler.New(s.initialized),
		"shutdown":    handler.New(s.handleShutdown),
		"exit":        handler.New(s.handleExit),

		"textDocument/didOpen":   handler.New(s.didOpen),
		"textDocument/didChange": handler.New(s.didChange),
		"textDocument/didSave":   handler.New(s.didSave),
		"textDocument/didClose":  handler.New(s.didClose),

		"textDocument/hover":          handler.New(s.hover),
		"textDocument/definition":     handler.New(s.definition),
		"textDocument/references":     handler.New(s.references),
		"textDocument/inlayHint":      handler.New(s.inlayHint),
		"textDocument/codeLens":       handler.New(s.codeLens),
		"textDocument/documentSymbol": handler.New(s.documentSymbol),
		"textDocument/codeAction":     handler.New(s.codeAction),
		"workspace/executeCommand":    handler.New(s.executeCommand),
		"textDocument/completion":     handler.New(s.completion),
		"textDocument/prepareRename":  handler.New(s.prepareRename),
		"textDocument/rename":         handler.New(s.rename),

		"workspace/didChangeWatchedFiles":     handler.New(s.didChangeWatchedFiles),
		"workspace/didChangeWorkspaceFolders": handler.New(s.didChangeWorkspaceFolders),

		"$/cancelRequest": handler.New(s.cancelRequest),
	}
	for name, h := range methods {
		methods[name] = s.recovering(h)
	}
	return methods
}

// recovering returns a handler that turns a panic into the error of its request.
func (s *server) recovering(h jrpc2.Handler) jrpc2.Handler {
	return func(ctx context.Context, r *jrpc2.Request) (result any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = jrpc2.Errorf(jrpc2.InternalError, "%s: %v", r.Method(), p)
				s.log(err)
			}
		}()
		return h(ctx, r)
	}
}

// log sends an internal error to the client's log.
func (s *server) log(err error) {
	const logError = 1
	_ = s.rpc.Notify(s.ctx, "window/logMessage", map[string]any{"type": logError, "message": "fleetc: " + err.Error()})
}

func (s *server) initialize(_ context.Context, p initializeParams) (any, error) {
	s.mu.Lock()
	s.client = p.Capabilities
	s.mu.Unlock()
	if len(p.WorkspaceFolders) == 0 && p.RootURI != "" {
		p.WorkspaceFolders = []workspaceFolder{{p.RootURI}}
	}
	s.addFolders(p.WorkspaceFolders)
	const incremental = 2
	return map[string]any{
		"serverInfo": map[string]any{"name": "fleetc", "version": s.Version},
		"capabilities": map[string]any{
			"positionEncoding": "utf-16",
			"textDocumentSync": map[string]any{"openClose": true, "change": incremental, "save": map[string]any{}},
			"hoverProvider":    true, "definitionProvider": true, "referencesProvider": true, "documentSymbolProvider": true,
			"inlayHintProvider": true, "codeLensProvider": map[string]any{},
			"workspace":              map[string]any{"workspaceFolders": map[string]any{"supported": true, "changeNotifications": true}},
			"renameProvider":         map[string]any{"prepareProvider": true},
			"completionProvider":     map[string]any{"triggerCharacters": []string{`"`, ".", ":", "/"}},
			"codeActionProvider":     map[string]any{"codeActionKinds": []string{quickFix}},
			"executeCommandProvider": map[string]any{"commands": []string{chartAddCommand}},
		},
	}, nil
}

// initialized asks the client to report changes of files on disk. Clients send an empty
// object, which a handler without parameters rejects.
func (s *server) initialized(context.Context, *jrpc2.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.client.Workspace.DidChangeWatchedFiles.DynamicRegistration {
		return nil
	}
	s.done.Go(func() {
		watchers := []any{map[string]any{"globPattern": "**/*"}}
		_, err := s.rpc.Callback(s.ctx, "client/registerCapability", map[string]any{"registrations": []any{map[string]any{
			"id": "files", "method": "workspace/didChangeWatchedFiles", "registerOptions": map[string]any{"watchers": watchers},
		}}})
		if err != nil && s.ctx.Err() == nil {
			s.log(fmt.Errorf("watch files: %w", err))
		}
	})
	return nil
}

func (s *server) handleShutdown(context.Context, *jrpc2.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutdown = true
	return nil, nil //nolint:nilnil // the result of the protocol is null
}

func (s *server) handleExit(context.Context, *jrpc2.Request) error {
	s.exitOnce.Do(func() { close(s.exit) })
	return nil
}

func (s *server) cancelRequest(_ context.Context, p cancelParams) error {
	s.rpc.CancelRequest(string(p.ID))
	return nil
}
