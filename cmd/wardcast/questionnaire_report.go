package main

import "context"

type questionnaireEvaluateCmd struct{}

func (c *questionnaireEvaluateCmd) Run(ctx context.Context, d *deps) error { return nil }

type questionnaireReportCmd struct{}

func (c *questionnaireReportCmd) Run(ctx context.Context, d *deps) error { return nil }
