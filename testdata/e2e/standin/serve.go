package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// serve answers requests at the addresses of the flags.
func serve(args []string) error {
	flags := flag.NewFlagSet("standin", flag.ExitOnError)
	plain := flags.String("http", "", "addresses for HTTP")
	secure := flags.String("https", "", "addresses for HTTPS")
	dir := flags.String("certs", "", "directory with the files cert and key; a new certificate if it is empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	fmt.Printf("%s serves %s and %s; the chart sets %q\n", os.Args[0], *plain, *secure, flags.Args())
	ended := make(chan error)
	http.HandleFunc("/", answer)
	for _, address := range strings.Fields(strings.ReplaceAll(*plain, ",", " ")) {
		go func() { ended <- http.ListenAndServe(address, nil) }()
	}
	if *secure != "" {
		cert, err := certificate(*dir)
		if err != nil {
			return err
		}
		server := &http.Server{Addr: *secure, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}
		go func() { ended <- server.ListenAndServeTLS("", "") }()
	}
	return <-ended
}

func certificate(dir string) (tls.Certificate, error) {
	if dir != "" {
		return tls.LoadX509KeyPair(filepath.Join(dir, "cert"), filepath.Join(dir, "key"))
	}
	pair, err := newPair([]string{"localhost"})
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(pair.cert, pair.key)
}

// answer admits every object as a webhook, and answers other requests as an API without
// resources.
func answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply := map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": strings.TrimPrefix(r.URL.Path, "/apis/"), "resources": []any{}}
	var review struct {
		APIVersion, Kind string
		Request          struct{ UID string }
	}
	if json.Unmarshal(body, &review) == nil && review.Kind == "AdmissionReview" {
		reply = map[string]any{"kind": review.Kind, "apiVersion": review.APIVersion, "response": map[string]any{"uid": review.Request.UID, "allowed": true}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // the client may be gone
}
