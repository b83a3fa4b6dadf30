package topicindex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/wardcast/wardcast/textproc"
)

const batchSize = 5000

var textKey = []byte("text") // where an index keeps the settings of textproc by which queries are read

// newMapping returns how documents are indexed: by the fields that they are made of.
func newMapping() *mapping.IndexMappingImpl {
	m := bleve.NewIndexMapping()
	m.ScoringModel = index.BM25Scoring
	m.DefaultMapping.Dynamic = false
	m.IndexDynamic, m.StoreDynamic, m.DocValuesDynamic = false, false, false
	return m
}

func build(ctx context.Context, path string, versions []*Version, text textproc.Settings) (err error) {
	read, err := textproc.Reader(text)
	if err != nil {
		return err
	}
	var topics []found
	for _, v := range versions {
		topics = append(topics, v.topics(read)...)
	}
	if err := share(topics); err != nil {
		return err
	}
	lengths := lengths(topics, len(topics)+len(versions))
	settings, err := json.Marshal(text)
	if err != nil {
		return err
	}
	idx, err := bleve.NewUsing(path, newMapping(), scorch.Name, scorch.Name, nil)
	if err != nil {
		return fmt.Errorf("making the index: %w", err)
	}
	defer func() {
		if err = errors.Join(err, idx.Close()); err == nil {
			err = writeSums(path)
		}
	}()
	b := &batches{ctx: ctx, index: idx, batch: idx.NewBatch()}
	b.batch.SetInternal(textKey, settings)
	for i := range topics {
		d, err := topics[i].document(lengths)
		if err := errors.Join(err, b.add(d)); err != nil {
			return err
		}
	}
	for _, v := range versions {
		d, err := v.document(read)
		if err := errors.Join(err, b.add(d)); err != nil {
			return err
		}
	}
	return b.flush()
}

type batches struct {
	ctx   context.Context
	index bleve.Index
	batch *bleve.Batch
}

func (b *batches) add(d *document.Document) error {
	if err := b.batch.IndexAdvanced(d); err != nil {
		return err
	}
	if b.batch.Size() < batchSize {
		return nil
	}
	return b.flush()
}

func (b *batches) flush() error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if err := b.index.Batch(b.batch); err != nil {
		return fmt.Errorf("writing the index: %w", err)
	}
	b.batch.Reset()
	return nil
}
