package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	mostConfigBytes = 4 << 20
	mostLayers      = 1000
	deepestIndex    = 3
)

// found is the one image for this machine.
type found struct {
	image    v1.Image
	digest   v1.Hash
	manifest *v1.Manifest
}

// find asks the mirrors of the registry, then the registry itself.
func find(ctx context.Context, asked request) (*found, error) {
	if asked.DockerConfig != "" {
		os.Setenv("DOCKER_CONFIG", asked.DockerConfig)
	}
	travel, err := newTransport(asked)
	if err != nil {
		return nil, err
	}
	host, rest, _ := strings.Cut(asked.Reference, "/")
	for _, mirror := range asked.Mirrors[host] {
		if image, err := findAt(ctx, asked, travel, mirror+"/"+rest); err == nil {
			return image, nil
		}
	}
	return findAt(ctx, asked, travel, asked.Reference)
}

func findAt(ctx context.Context, asked request, travel http.RoundTripper, reference string) (*found, error) {
	host, _, _ := strings.Cut(reference, "/")
	strictness := []name.Option{name.StrictValidation}
	if contains(asked.Insecure, host) {
		strictness = append(strictness, name.Insecure)
	}
	ref, err := name.ParseReference(reference, strictness...)
	if err != nil {
		return nil, fail(Fault, "%v", err)
	}
	keychain := authn.Keychain(authn.NewMultiKeychain()) // of nobody
	if asked.DockerConfig != "" {
		keychain = authn.DefaultKeychain
	}
	descriptor, err := remote.Get(ref, remote.WithContext(ctx), remote.WithTransport(travel),
		remote.WithAuthFromKeychain(keychain), remote.WithUserAgent("roost"),
		// Whoever asked may ask again; a registry that is down is told of at once.
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}))
	if err != nil {
		return nil, err
	}
	if descriptor.MediaType.IsIndex() {
		index, err := descriptor.ImageIndex()
		if err != nil {
			return nil, err
		}
		return fromIndex(index, deepestIndex)
	}
	if !descriptor.MediaType.IsImage() {
		return nil, fail(Broken, "it is no image but %s", descriptor.MediaType)
	}
	image, err := descriptor.Image()
	if err != nil {
		return nil, err
	}
	return described(image)
}

// fromIndex chooses the image for this machine. Beside images an index may list signatures and the like, for no platform.
func fromIndex(index v1.ImageIndex, deep int) (*found, error) {
	if deep == 0 {
		return nil, fail(Broken, "its indexes lead from one to the other")
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var offered []string
	for _, each := range manifest.Manifests {
		if each.Platform == nil && each.MediaType.IsIndex() {
			inner, err := index.ImageIndex(each.Digest)
			if err != nil {
				return nil, err
			}
			return fromIndex(inner, deep-1)
		}
		if each.Platform == nil || !each.MediaType.IsImage() || each.Platform.OS == "unknown" {
			continue
		}
		if isHere(each.Platform.OS, each.Platform.Architecture, each.Platform.Variant) {
			image, err := index.Image(each.Digest)
			if err != nil {
				return nil, err
			}
			return described(image)
		}
		offered = append(offered, each.Platform.String())
	}
	if len(offered) == 0 {
		return nil, fail(Broken, "its index lists no image")
	}
	return nil, fail(Platform, "%s", strings.Join(offered[:min(len(offered), 12)], ", "))
}

func described(image v1.Image) (*found, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	digest, err := image.Digest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Layers) > mostLayers {
		return nil, fail(Broken, "it has %d layers; %d is the most", len(manifest.Layers), mostLayers)
	}
	if manifest.Config.Size > mostConfigBytes {
		return nil, fail(Broken, "its configuration has %d bytes", manifest.Config.Size)
	}
	switch manifest.Config.MediaType {
	case types.OCIConfigJSON, types.DockerConfigJSON:
	default:
		return nil, fail(Broken, "it is no image of a machine but of the type %s", manifest.Config.MediaType)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	if config.Architecture != "" && !isHere(config.OS, config.Architecture, config.Variant) {
		return nil, fail(Platform, "%s", config.Platform())
	}
	if len(config.RootFS.DiffIDs) != len(manifest.Layers) {
		return nil, fail(Broken, "it has %d layers, and its configuration knows %d", len(manifest.Layers), len(config.RootFS.DiffIDs))
	}
	return &found{image, digest, manifest}, nil
}

func (f *found) config() (json.RawMessage, error) { return f.image.RawConfigFile() }

// isHere: programs of that platform run on every machine of this one's kind. Variants above the first may not.
func isHere(system, architecture, variant string) bool {
	first := map[string]string{"amd64": "v1", "arm64": "v8"}[runtime.GOARCH]
	return (system == "linux" || system == "") && architecture == runtime.GOARCH && (variant == "" || variant == first)
}
