package main

// day is the time between points of panels that count by day.
const day = "1d"

// week is for a weekly review.
func week() *board {
	return &board{
		uid: "wardcast-week", title: "wardcast: week", from: "now-7d",
		text: "What to look at once a week: how much was answered and how well, whether notes and patients are still " +
			"those of the training, and what retrainings did.",
		rows: []row{
			{title: "What was answered", panels: volume()},
			{title: "Predictions", panels: predictions()},
			{title: "Are notes still those of the training?", panels: drift()},
			{title: "Are probabilities right?", panels: calibration()},
			{title: "Retraining", panels: learning()},
			{title: "Questionnaires", closed: true, panels: questionnaires()},
			{title: "Operations", panels: upkeep()},
		},
	}
}

func volume() []panel {
	return []panel{
		{
			kind: bars, title: "Records per day", width: 12, unit: "short", step: day,
			text: "By what became of them. erased: records without a value, which erase a visit.",
			queries: []query{{
				"sum by (stream, disposition) (increase(wardcast_ingest_records_total{$of}[1d]))",
				"{{disposition}}, {{stream}}",
			}},
		},
		{
			kind: bars, title: "Dead letters per day, by reason", width: 12, unit: "short", step: day,
			text: "A sender that changed its messages shows as one reason that grows: WardcastDeadLetters.",
			queries: []query{{
				"sum by (reason) (increase(wardcast_ingest_dead_letters_total{$of}[1d])) > 0", "{{reason}}",
			}},
			empty: "No dead letters in this time.",
		},
		{
			title: "Longest wait of each hour", width: 12, unit: "s", bad: 120, step: "1h",
			text: "The greatest age of a record without an answer, on any scorer.",
			queries: []query{{
				"max by (stream) (max_over_time(wardcast_ingest_oldest_unanswered_seconds{$of}[1h]))", "{{stream}}",
			}},
		},
		{
			title: "Share of each day that scorers were ready", width: 12, unit: "percentunit", step: day, signed: true,
			text: "Of the time in which Prometheus could read them.",
			queries: []query{{
				"avg by (instance, stream) (avg_over_time(wardcast_ingest_ready{$of}[1d]))", "{{instance}} {{stream}}",
			}},
		},
	}
}

func predictions() []panel {
	return []panel{
		{
			title: "Share predicted to be admitted", width: 8, unit: "percentunit", step: "1h",
			text: "Of the predictions of the last 24 hours. A step means another interface, other patients or a new " +
				"model.",
			queries: []query{{
				`sum(increase(wardcast_predictions_total{$at, decision="admit"}[1d])) / ` +
					"sum(increase(wardcast_predictions_total{$at}[1d]))", "admit",
			}},
		},
		{
			title: "Mean probability of admission", width: 8, unit: "percentunit", step: "1h",
			text: "Of the predictions of the last 24 hours.",
			queries: []query{{
				"sum(increase(wardcast_probability_sum{$at}[1d])) / " +
					"sum(increase(wardcast_probability_count{$at}[1d]))",
				"mean",
			}},
		},
		{
			title: "Notes in which the model knows no word", width: 8, unit: "percentunit", step: "1h",
			text: "Their share in the last 24 hours. If it grows: other notes, or text in the wrong field.",
			queries: []query{{
				"sum(increase(wardcast_abstentions_total{$at}[1d])) / " +
					"sum(increase(wardcast_predictions_total{$at}[1d]))",
				"abstained",
			}},
		},
		{
			title: "Words that the model does not know", width: 12, unit: "percentunit", step: "1h",
			text: "Share of a note's words, in the last 24 hours: half of the notes have less, and 90 % have less.",
			queries: []query{
				{
					"histogram_quantile(0.5, sum by (le) (increase(wardcast_unknown_token_ratio_bucket{$at}[1d])))",
					"half have less",
				},
				{
					"histogram_quantile(0.9, sum by (le) (increase(wardcast_unknown_token_ratio_bucket{$at}[1d])))",
					"90 % have less",
				},
			},
		},
		{
			kind: bars, title: "Values that cannot be or are not known, per day", width: 12, unit: "short", step: day,
			text: "By field of the note, and what is wrong. A field that grows: ask its sender " +
				"(WardcastImplausibleValues, WardcastUnknownLevels).",
			queries: []query{{
				"sum by (field, code) (increase(wardcast_input_warnings_total{$at}[1d])) > 0", "{{field}}: {{code}}",
			}},
			empty: "None in this time.",
		},
	}
}

func drift() []panel {
	return []panel{
		{
			title: "Probabilities against training (PSI)", width: 8, unit: "none", bad: 0.25,
			text: "Population stability index of the last seven days. It says something from 200 notes on, and above " +
				"four times what chance makes of it: WardcastScoreDrift.",
			queries: []query{
				{"max by (model) (wardcast_score_psi{$at})", "{{model}}"},
				{"4 * max(wardcast_score_psi_expected{$at})", "four times chance, at most"},
			},
		},
		{
			title: "Topics of notes against training (PSI)", width: 8, unit: "none", bad: 0.25,
			text: "What notes are about: WardcastTopicDrift.",
			queries: []query{
				{"max by (model) (wardcast_topic_psi{$at})", "{{model}}"},
				{"4 * max(wardcast_topic_psi_expected{$at})", "four times chance, at most"},
			},
		},
		{
			title: "Notes that drift counts", width: 8, unit: "short",
			text:    "Notes of the last seven days. Below 200 the other panels of this row say little.",
			queries: []query{{"max by (model) (wardcast_drift_notes{$at})", "{{model}}"}},
		},
		{
			title: "Known words, less than in training", width: 12, unit: "percentunit", signed: true, bad: 0.05,
			text: "How much smaller the share of words that the model knows is than in training: " +
				"WardcastKnownTermsFell.",
			queries: []query{{
				"max by (model) (wardcast_known_term_training_ratio{$at} - wardcast_known_term_ratio{$at})",
				"{{model}}",
			}},
		},
		{
			title: "Unknown values, more than in training", width: 12, unit: "percentunit", signed: true, bad: 0.05,
			text: "How much larger the share of values of a field that the model does not know is than in training: " +
				"WardcastUnknownLevels.",
			queries: []query{{
				"max by (model, column) (wardcast_unknown_level_ratio{$at} - " +
					"wardcast_unknown_level_training_ratio{$at})",
				"{{column}}, {{model}}",
			}},
		},
	}
}

func calibration() []panel {
	return []panel{
		{
			title: "Intercept", width: 8, unit: "none", signed: true, bad: 0.3,
			text: "0 is right. Above 0 more patients are admitted than predicted, below 0 fewer. 0.3 off in either " +
				"direction, and three standard errors: WardcastCalibrationOff.",
			queries: []query{
				{"max by (model) (wardcast_calibration_intercept{$at})", "{{model}}"},
				{"max by (model) (wardcast_calibration_intercept_standard_error{$at})", "standard error, {{model}}"},
			},
		},
		{
			title: "Slope", width: 8, unit: "none", signed: true,
			text: "1 is right. Below 1 predictions are too extreme, above 1 too cautious. 0.25 off, and three " +
				"standard errors: WardcastCalibrationSlopeOff.",
			queries: []query{
				{"max by (model) (wardcast_calibration_slope{$at})", "{{model}}"},
				{"max by (model) (wardcast_calibration_slope_standard_error{$at})", "standard error, {{model}}"},
			},
		},
		{
			title: "Visits with an outcome, and without", width: 8, unit: "short",
			text: "Visits predicted one to eight days ago. Below 50 admissions the calibration says little. More " +
				"without an outcome than with one: WardcastOutcomesMissing.",
			queries: []query{
				{"max by (model) (wardcast_labelled_notes{$at})", "with, {{model}}"},
				{"max by (model) (wardcast_labelled_admissions{$at})", "admitted, {{model}}"},
				{"max by (model) (wardcast_undecided_notes{$at})", "without, {{model}}"},
			},
		},
		{
			kind: bars, title: "Predictions and outcomes read, per day", width: 24, unit: "short", step: day,
			text: "What the calibration was measured by. If refused grows, a sender of outcomes changed its " +
				"messages. A restart reads the last eight days again.",
			queries: []query{{
				"max by (result) (increase(wardcast_label_messages_total{$at}[1d]))", "{{result}}",
			}},
		},
	}
}

func learning() []panel {
	return []panel{
		{
			title: "Log loss of the last retraining", width: 8, unit: "none", signed: true,
			text: "On the notes that the gate judged by. Lower is better. A champion near the base rate knows little.",
			queries: []query{{
				"max by (of) (wardcast_retrain_log_loss)", "{{of}}",
			}},
		},
		{
			kind: states, title: "Decisions of the gate", width: 8, unit: "none",
			text:    "What it made of each challenger. If it refuses night after night, read wardcast models history.",
			words:   []word{{"0", "no", "transparent"}, {"1", "yes", "blue"}},
			queries: []query{{"max by (decision) (wardcast_retrain_decision)", "{{decision}}"}},
		},
		{
			title: "Notes of the last retraining", width: 8, unit: "short",
			text: "Notes that it learnt from, and that the gate judged by. If it falls, notes or " +
				"outcomes are missing.",
			queries: []query{{"max by (part) (wardcast_retrain_notes)", "{{part}}"}},
		},
		{
			title: "Time since the last run, and the last success", width: 8, unit: "s", bad: 2 * 86400,
			text: "Above two days: WardcastRetrainStale.",
			queries: []query{
				{"time() - max(wardcast_retrain_end_timestamp_seconds)", "last run"},
				{"time() - max(wardcast_retrain_success_timestamp_seconds)", "last success"},
			},
		},
		{
			title: "Duration of the last retraining", width: 8, unit: "s",
			text:    "It grows with the notes. Keep it below the time limit of your job.",
			queries: []query{{"max(wardcast_retrain_duration_seconds)", "duration"}},
		},
		{
			title: "Age of the models in use", width: 8, unit: "s",
			text: "Time since each model was trained.",
			queries: []query{{
				"time() - min by (model) (wardcast_model_created_timestamp_seconds{$of})", "{{model}}",
			}},
		},
		{
			kind: rows, title: "Challenger in the shadow now", width: 24, unit: "none",
			text:    "The generation that scores next to the champion, for comparison.",
			queries: []query{{"count by (generation) (wardcast_shadow_info{$at})", ""}},
			columns: map[string]string{"generation": "Generation", "Value": "Scorers"},
			empty:   "None.",
		},
	}
}

func questionnaires() []panel {
	return []panel{
		{
			kind: bars, title: "Responses scored per day", width: 8, unit: "short", step: day,
			text: "By instrument.",
			queries: []query{{
				"sum by (instrument) (increase(wardcast_questionnaire_scored_total{$at}[1d]))", "{{instrument}}",
			}},
		},
		{
			title: "Responses beyond the training", width: 8, unit: "percentunit", step: "1h",
			text: "Share, in the last 24 hours, with a confound outside the range of training: other people answer.",
			queries: []query{{
				"sum by (instrument) (increase(wardcast_questionnaire_beyond_training_total{$at}[1d])) / " +
					"sum by (instrument) (increase(wardcast_questionnaire_scored_total{$at}[1d]))",
				"{{instrument}}",
			}},
		},
		{
			title: "Items without an answer", width: 8, unit: "percentunit", step: "1h",
			text: "Mean share of the model's items, in the last 24 hours. If it grows, items were renamed or left out.",
			queries: []query{{
				"sum by (instrument) (increase(wardcast_questionnaire_missing_ratio_sum{$at}[1d])) / " +
					"sum by (instrument) (increase(wardcast_questionnaire_missing_ratio_count{$at}[1d]))",
				"{{instrument}}",
			}},
		},
	}
}

func upkeep() []panel {
	return []panel{
		{
			title: "Most memory of each hour", width: 8, unit: "bytes", step: "1h",
			text: "Resident memory. It rises to a level and stays there; a steady rise over the week is a fault: " +
				"please report it.",
			queries: []query{{"max_over_time(process_resident_memory_bytes{$at}[1h])", "{{instance}}"}},
		},
		{
			title: "Certificate expires in", width: 8, unit: "s", signed: true,
			text: "Time until the certificate of http.tls expires. Within 14 days: WardcastCertificateExpires.",
			queries: []query{{
				"min by (instance) (wardcast_http_certificate_expiry_timestamp_seconds{$at} > 0) - time()",
				"{{instance}}",
			}},
			empty: "no TLS",
		},
		{
			kind: bars, title: "Wrong tokens per day", width: 8, unit: "short", step: day,
			text: "By scorer. The log names the addresses.",
			queries: []query{{
				"sum by (instance) (increase(wardcast_http_wrong_tokens_total{$at}[1d]))", "{{instance}}",
			}},
		},
	}
}
