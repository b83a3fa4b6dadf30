package main

// now is for those who are called at night.
func now() *board {
	return &board{
		uid: "wardcast-now", title: "wardcast: now", from: "now-6h", refresh: "30s",
		text: "Whether notes are answered, and if not, where to look. The section Alerts of docs/operations.md says " +
			"what to do about each alert that a panel names.",
		rows: []row{
			{title: "Are notes answered?", panels: answered()},
			{title: "Brokers and partitions", panels: brokers()},
			{title: "Dead letters", panels: deadLetters()},
			{title: "Models", panels: models()},
			{title: "Retraining", panels: retraining()},
			{title: "Beds", panels: beds()},
			{title: "Pages and API", panels: pages()},
			{title: "Memory, processor and goroutines", panels: process()},
			{title: "Bridge to the hospital (HL7 v2 and FHIR)", closed: true, panels: bridge()},
		},
	}
}

func answered() []panel {
	return []panel{
		{
			kind: number, title: "Scorers", width: 3, unit: "none", below: true, bad: 1,
			text:    "Scorers that Prometheus reads. Fewer than yesterday: WardcastDown. 0: WardcastNoScorer.",
			queries: []query{{"count(wardcast_build_info{$at}) or vector(0)", ""}},
		},
		{
			kind: number, title: "Not ready", width: 3, unit: "none", bad: 1,
			text:    "Streams of scorers whose /readyz answers 503 and says why: WardcastNotReady.",
			queries: []query{{"count(wardcast_ingest_ready{$of} == 0) or vector(0)", ""}},
		},
		{
			kind: number, title: "Records that wait", width: 3, unit: "short", warn: 50, bad: 100, empty: "not known",
			text:    "Records in the input that have no answer yet. Above 100 for five minutes: WardcastNotesWait.",
			queries: []query{{"sum(wardcast_ingest_lag_records{$of})", ""}},
		},
		{
			kind: number, title: "Partitions with unknown lag", width: 3, unit: "none", warn: 1, empty: "not known",
			text: "Partitions where more records may wait than the number to the left says: their brokers have not " +
				"answered for 15 seconds. If it stays above 0, a broker is away.",
			queries: []query{{"sum(wardcast_ingest_lag_unknown_partitions{$of})", ""}},
		},
		{
			kind: number, title: "Oldest without an answer", width: 3, unit: "s", warn: 60, bad: 120,
			empty: "not known",
			text: "Age of the oldest record in the hands of a scorer that has no answer. Above two minutes: " +
				"WardcastNoteLate.",
			queries: []query{{"max(wardcast_ingest_oldest_unanswered_seconds{$of})", ""}},
		},
		{
			kind: number, title: "Answers per second", width: 3, unit: "short", empty: "not known",
			text: "Records answered per second. 0 is right only while no notes come.",
			queries: []query{{
				`sum(rate(wardcast_ingest_records_total{$of, disposition="answered"}[$r]))`, "",
			}},
		},
		{
			kind: number, title: "Since the last answer", width: 3, unit: "s", empty: "none yet",
			text: "Time since the last answer was written. Long is right only while no notes come.",
			queries: []query{{
				"time() - max(wardcast_ingest_last_answer_timestamp_seconds{$of} > 0)", "",
			}},
		},
		{
			kind: number, title: "Blocked partitions", width: 3, unit: "none", bad: 1, empty: "not known",
			text: "Partitions that wait until somebody mends what the brokers refuse, such as a missing permission: " +
				"WardcastPartitionBlocked.",
			queries: []query{{"sum(wardcast_ingest_blocked_partitions{$of})", ""}},
		},
		{
			kind: rows, title: "Alerts that fire", width: 12, unit: "none",
			empty: "No alert of wardcast fires, or Prometheus does not evaluate wardcast.rules.yml.",
			text: "Alerts of deploy/prometheus/wardcast.rules.yml, of all jobs and instances. Find each in the " +
				"section Alerts of docs/operations.md.",
			queries: []query{{
				`sum by (severity, alertname, instance, stream, model, reason) ` +
					`(ALERTS{alertname=~"Wardcast.*", alertstate="firing"})`, "",
			}},
			columns: map[string]string{"alertname": "Alert", "severity": "Severity"},
		},
		{
			kind: states, title: "Readiness", width: 12, unit: "none", words: readyWords,
			text:    "What /readyz of each scorer says. A gap: Prometheus could not read the scorer.",
			queries: []query{{"wardcast_ingest_ready{$of}", "{{instance}} {{stream}}"}},
		},
		{
			title: "Answers per second, by scorer", width: 8, unit: "short",
			text: "Records answered or refused. If one scorer is at 0 while others are not, it has no partition or " +
				"is blocked.",
			queries: []query{{
				"sum by (instance, stream) (rate(wardcast_ingest_consumed_records_total{$of}[$r]))",
				"{{instance}} {{stream}}",
			}},
		},
		{
			title: "Records that wait, by scorer", width: 8, unit: "short", bad: 100,
			text: "It falls after an outage. If it grows, start another scorer; there may be as many as partitions: " +
				"WardcastNotesWait.",
			queries: []query{{
				"sum by (instance, stream) (wardcast_ingest_lag_records{$of})", "{{instance}} {{stream}}",
			}},
		},
		{
			title: "Oldest without an answer, by scorer", width: 8, unit: "s", bad: 120,
			text:    "A steady rise means that a scorer holds a record and does not get on: WardcastNoteLate.",
			queries: []query{{"wardcast_ingest_oldest_unanswered_seconds{$of}", "{{instance}} {{stream}}"}},
		},
		{
			title: "From record to answer", width: 8, unit: "s",
			text: "Time from a record's own timestamp to its written answer. High while nothing waits: the clock of " +
				"a sender is wrong, or the brokers are slow.",
			queries: quantiles("wardcast_ingest_end_to_end_seconds_bucket{$of}"),
		},
		{
			title: "Time to score one record", width: 8, unit: "s",
			text:    "Above some milliseconds: a larger model, or too little processor.",
			queries: quantiles("wardcast_ingest_handle_seconds_bucket{$of}"),
		},
		{
			title: "Being answered", width: 8, unit: "short",
			text: "Records that are scored and whose answer is being written. If it does not fall, the brokers do " +
				"not take answers: WardcastAnswersRefused.",
			queries: []query{{"wardcast_ingest_in_flight_records{$of}", "{{instance}} {{stream}}"}},
		},
	}
}

// quantiles are the median, and what 5 % and 1 % of the observations of a histogram exceed.
func quantiles(bucket string) []query {
	q := func(at string) string {
		return "histogram_quantile(" + at + ", sum by (le) (rate(" + bucket + "[$r])))"
	}
	return []query{{q("0.5"), "half are faster"}, {q("0.95"), "95 % are faster"}, {q("0.99"), "99 % are faster"}}
}

func brokers() []panel {
	return []panel{
		{
			title: "Partitions, by scorer", width: 6, unit: "none",
			text: "Partitions that each scorer reads. All 0: WardcastNobodyReads. One at 0: WardcastNoPartition.",
			queries: []query{{
				"wardcast_ingest_assigned_partitions{$of}", "{{instance}} {{stream}}",
			}},
		},
		{
			kind: bars, title: "Partitions shared out anew", width: 6, unit: "none",
			text: "How often scorers joined their group, and how often because nothing moved in a partition " +
				"(WardcastStalled). Expected when a scorer starts or stops, and at no other time.",
			queries: []query{
				{
					"sum by (stream) (increase(wardcast_ingest_rebalances_total{$of}[$r]))",
					"joined, {{stream}}",
				},
				{
					"sum by (stream) (increase(wardcast_ingest_stalls_total{$of}[$r]))",
					"stalled, {{stream}}",
				},
			},
		},
		{
			title: "Requests that failed and are repeated", width: 6, unit: "short",
			text: "Per second. For minutes: the brokers are away, their disk is full, or too few replicas are in " +
				"sync (WardcastAnswersRefused).",
			queries: []query{
				{
					"sum by (stream) (rate(wardcast_ingest_produce_retries_total{$of}[$r]))",
					"writing, {{stream}}",
				},
				{
					"sum by (stream) (rate(wardcast_ingest_fetch_errors_total{$of}[$r]))",
					"reading, {{stream}}",
				},
				{
					`sum by (stream) (rate(wardcast_ingest_commits_total{$of, result="failed"}[$r]))`,
					"committing, {{stream}}",
				},
			},
		},
		{
			kind: bars, title: "Refusals that do not pass by themselves", width: 6, unit: "none",
			text: "By Kafka's code: 29 is a missing permission, 10 a record that is too large, 58 a refused login. " +
				"WardcastPartitionBlocked says what to do.",
			queries: []query{{
				"sum by (code) (increase(wardcast_ingest_permanent_errors_total{$of}[$r]))",
				"code {{code}}",
			}},
		},
		{
			kind: states, title: "Missing topics", width: 8, unit: "none", words: faultWords,
			text:    "Whether a topic that a scorer reads or writes was deleted: WardcastTopicMissing.",
			queries: []query{{"max by (kafka_topic) (wardcast_ingest_topic_missing{$of})", "{{kafka_topic}}"}},
		},
		{
			title: "Held back by an open transaction", width: 8, unit: "s", bad: 300,
			text: "How long a producer's open transaction has held back records that others wrote too: " +
				"WardcastTransactionOpen.",
			queries: []query{{"wardcast_ingest_open_transaction_seconds{$of}", "{{instance}} {{stream}}"}},
		},
		{
			kind: bars, title: "Records lost to retention", width: 8, unit: "none",
			text: "Records that Kafka deleted before a scorer read them. They have no answer: WardcastRecordsLost.",
			queries: []query{{
				`sum by (stream) (increase(wardcast_ingest_skipped_offsets_total{$of, cause="retention"}[$r]))`,
				"{{stream}}",
			}},
		},
	}
}

func deadLetters() []panel {
	return []panel{
		{
			kind: bars, title: "Dead letters, by reason", width: 12, unit: "none",
			text: "Records that could not be answered. wardcast dlq list shows the field of each; dlq replay sends " +
				"them back after the cause is mended: WardcastDeadLetters. no_model, too_large and unreadable have " +
				"alerts of their own: WardcastNoModel, WardcastTooLarge, WardcastUnreadable.",
			queries: []query{{
				"sum by (reason) (increase(wardcast_ingest_dead_letters_total{$of}[$r])) > 0",
				"{{reason}}",
			}},
			empty: "No dead letters in this time.",
		},
		{
			kind: rows, title: "Latest dead letter of each reason", width: 6, unit: "dateTimeFromNow",
			text: "When each scorer's last dead letter of a reason was written: whether it goes on.",
			queries: []query{{
				"max by (stream, reason) (wardcast_ingest_last_dead_letter_timestamp_seconds{$of} > 0) * 1000", "",
			}},
			columns: map[string]string{"stream": "Stream", "reason": "Reason", "Value": "Written"},
			empty:   "No dead letters since the scorers started.",
		},
		{
			kind: bars, title: "Faults of the program", width: 6, unit: "none",
			text: "Records and requests that made the program fail. The log has the place, and no text of a note: " +
				"WardcastPanics.",
			queries: []query{
				{
					"sum by (stream) (increase(wardcast_ingest_handler_panics_total{$of}[$r]))",
					"records, {{stream}}",
				},
				{"sum(increase(wardcast_http_panics_total{$at}[$r]))", "requests"},
			},
		},
	}
}

func models() []panel {
	return []panel{
		{
			kind: states, title: "Models refused", width: 6, unit: "none", words: faultWords,
			text: "Whether the newest models are damaged, unreadable, or, with models.trusted_keys, not signed by " +
				"one of these keys. The scorer keeps those that it has: do not restart it. WardcastModelsRefused.",
			queries: []query{{"wardcast_model_refused{$of}", "{{instance}} {{stream}}"}},
		},
		{
			kind: states, title: "Champion and history disagree", width: 6, unit: "none", words: faultWords,
			text: "Whether somebody changed the champion or the history of the store by hand. Do not restart a " +
				"scorer: WardcastHistoryDisagrees.",
			queries: []query{{"wardcast_model_history_disagrees{$of}", "{{instance}} {{stream}}"}},
		},
		{
			kind: rows, title: "Models in use", width: 12, unit: "none",
			text: "How many scorers use each version. Two versions of one model for longer than models.poll: a " +
				"scorer has not taken up the new ones.",
			queries: []query{{"count by (stream, model, version) (wardcast_model_info{$of})", ""}},
			columns: map[string]string{"stream": "Stream", "model": "Model", "version": "Version", "Value": "Scorers"},
		},
		{
			title: "Age of the models in use", width: 8, unit: "s",
			text: "Time since each model was trained. It falls when new models are served; if it only rises, nobody " +
				"has trained again, or the gate refuses.",
			queries: []query{{
				"time() - min by (stream, model) (wardcast_model_created_timestamp_seconds{$of})", "{{model}}",
			}},
		},
		{
			kind: bars, title: "New models taken up or refused", width: 8, unit: "none",
			text: "How often scorers took up new models (ok) or refused them (failed). The first ok is the start.",
			queries: []query{{
				"sum by (stream, result) (increase(wardcast_model_reloads_total{$of}[$r])) > 0",
				"{{result}}, {{stream}}",
			}},
			empty: "None in this time.",
		},
		{
			title: "Challenger in the shadow", width: 8, unit: "short",
			text: "Predictions per second of the challenger, and notes that it left out. Both are empty unless " +
				"shadow.generation is set.",
			queries: []query{
				{"sum(rate(wardcast_shadow_predictions_total{$at}[$r]))", "predicted"},
				{
					"sum by (reason) (rate(wardcast_shadow_dropped_total{$at}[$r]))",
					"left out: {{reason}}",
				},
			},
		},
	}
}

func retraining() []panel {
	return []panel{
		{
			kind: number, title: "Since the last success", width: 6, unit: "s", warn: 30 * 3600, bad: 2 * 86400,
			text: "Time since a retraining last ended without an error. Above two days: WardcastRetrainStale. " +
				"Not known for a day: WardcastRetrainUnknown. A refusal by the gate is a success too.",
			queries: []query{{"time() - max(wardcast_retrain_success_timestamp_seconds)", ""}},
			empty:   "not known",
		},
		{
			kind: number, title: "The last run failed", width: 6, unit: "none", bad: 1, words: faultWords,
			text:    "Whether the last retraining ended with an error: WardcastRetrainFailed.",
			queries: []query{{"max(wardcast_retrain_failed)", ""}},
			empty:   "not known",
		},
		{
			kind: number, title: "The gate decided", width: 6, unit: "none",
			text: "What the gate made of the last challenger. If it refuses night after night, read wardcast models " +
				"history.",
			queries: []query{{"wardcast_retrain_decision == 1", "{{decision}}"}},
			empty:   "not known",
		},
		{
			kind: number, title: "The last run took", width: 6, unit: "s",
			text:    "If it nears the time limit of your job, raise the limit.",
			queries: []query{{"max(wardcast_retrain_duration_seconds)", ""}},
			empty:   "not known",
		},
	}
}

func beds() []panel {
	return []panel{
		{
			title: "Patients", width: 8, unit: "none",
			text: "Patients who wait for a decision, those whose notes say that they arrive later, and those who " +
				"left the pool for having waited too long. Many of the last: outcomes are missing.",
			queries: []query{
				{"max(wardcast_beds_patients_waiting{$at})", "wait"},
				{"max(wardcast_beds_ahead_patients{$at})", "arrive later"},
				{"max(wardcast_beds_timed_out_patients{$at})", "waited too long"},
			},
		},
		{
			title: "Age of the forecasts", width: 8, unit: "s", bad: 600,
			text: "Time since the latest forecasts. If it rises, the brokers are away, or reading lags.",
			queries: []query{{
				"time() - min by (instance) (wardcast_beds_forecast_timestamp_seconds{$at} > 0)", "{{instance}}",
			}},
		},
		{
			kind: states, title: "What forecasts lack", width: 8, unit: "none", words: faultWords,
			text: "Outcomes: none came for an hour, so patients who left may still count. Fit: the fit of beds in " +
				"the store cannot be used, and /readyz says what forecasts rest on instead.",
			queries: []query{
				{"max(wardcast_beds_outcomes_stale{$at})", "no outcomes"},
				{"max(wardcast_beds_fit_damaged{$at})", "fit damaged"},
			},
		},
		{
			kind: bars, title: "Messages that forecasts leave out", width: 12, unit: "none",
			text: "Predictions and outcomes that do not count, by reason. The log names the first of each.",
			queries: []query{{
				"max by (reason) (increase(wardcast_beds_skipped_messages_total{$at}[$r])) > 0",
				"{{reason}}",
			}},
			empty: "None in this time.",
		},
		{
			title: "Forecasts published, visits remembered", width: 12, unit: "short",
			text: "Forecasts published per minute, by scorer, and visits remembered by the fullest one, 150,000 at " +
				"most.",
			queries: []query{
				{
					"sum by (instance) (rate(wardcast_beds_published_messages_total{$at}[$r])) * 60",
					"{{instance}}",
				},
				{"max(wardcast_beds_visits{$at})", "visits"},
			},
		},
	}
}

func pages() []panel {
	return []panel{
		{
			kind: number, title: "Certificate expires in", width: 4, unit: "s", below: true, bad: 14 * 86400,
			text: "Time until the certificate of http.tls expires, on the scorer where it is next. Within 14 days: " +
				"WardcastCertificateExpires.",
			queries: []query{{"min(wardcast_http_certificate_expiry_timestamp_seconds{$at} > 0) - time()", ""}},
			empty:   "no TLS",
		},
		{
			kind: number, title: "Wrong tokens in an hour", width: 4, unit: "none", warn: 1, bad: 100,
			empty: "not known",
			text: "Requests with a token that none of http.tokens is. The log names the addresses (requests with a " +
				"wrong token).",
			queries: []query{{"sum(increase(wardcast_http_wrong_tokens_total{$at}[1h]))", ""}},
		},
		{
			kind: number, title: "Answers of 500 or more in an hour", width: 4, unit: "none", warn: 1, bad: 50,
			text: "503 of /readyz aside, which says that a scorer is not ready. The log has the place of a fault of " +
				"the program.",
			queries: []query{{
				`sum(increase(wardcast_http_requests_total{$at, status=~"5..", route!="GET /readyz"}[1h]))` +
					" or vector(0)",
				"",
			}},
		},
		{
			kind: number, title: "Open streams", width: 4, unit: "none", warn: 3500, bad: 4000, empty: "not known",
			text:    "Browsers and programs that follow predictions, on the scorer with most. It serves 4,096 at most.",
			queries: []query{{"max(wardcast_live_viewers{$at})", ""}},
		},
		{
			kind: number, title: "Slowest 1 % of answers", width: 4, unit: "s", warn: 1, bad: 5, empty: "no requests",
			text: "The time that 1 % of the requests exceed, over all routes, streams aside.",
			queries: []query{{
				"histogram_quantile(0.99, sum by (le) (rate(wardcast_http_request_seconds_bucket{$at}[5m]))) >= 0", "",
			}},
		},
		{
			kind: number, title: "Predictions that viewers missed in an hour", width: 4, unit: "none", warn: 1,
			text:    "Viewers were too slow for them, and their pages say so: slow networks.",
			queries: []query{{"sum(increase(wardcast_live_lost_total{$at}[1h]))", ""}},
			empty:   "not known",
		},
		{
			title: "Requests per second, by status", width: 12, unit: "short",
			text: "401 and 403 are refused logins and roles, 429 the rate limit, 503 a scorer that is not ready or " +
				"has too many connections.",
			queries: []query{{
				"sum by (status) (rate(wardcast_http_requests_total{$at}[$r])) > 0", "{{status}}",
			}},
		},
		{
			title: "Refused requests and wrong tokens, by scorer", width: 12, unit: "short",
			text: "Per second. Many wrong tokens from few addresses: somebody guesses, or a program has an old token.",
			queries: []query{
				{
					"sum by (instance) (rate(wardcast_http_wrong_tokens_total{$at}[$r]))",
					"wrong token, {{instance}}",
				},
				{
					`sum by (instance) (rate(wardcast_http_requests_total{$at, status=~"401|403|429"}[$r]))`,
					"refused, {{instance}}",
				},
			},
		},
	}
}

func process() []panel {
	return []panel{
		{
			title: "Memory", width: 6, unit: "bytes",
			text: "Resident memory. The section Memory of docs/operations.md has the formula. A steady rise over " +
				"days is a fault: please report it.",
			queries: []query{{"process_resident_memory_bytes{$at}", "{{instance}}"}},
		},
		{
			title: "Processor", width: 6, unit: "short",
			text:    "Processors that each process keeps busy. At the container's limit, notes wait.",
			queries: []query{{"rate(process_cpu_seconds_total{$at}[$r])", "{{instance}}"}},
		},
		{
			title: "Goroutines", width: 6, unit: "short",
			text: "Each open stream takes a few. A steady rise while the number of streams does not is a fault: " +
				"please report it.",
			queries: []query{{"go_goroutines{$at}", "{{instance}}"}},
		},
		{
			title: "Open files", width: 6, unit: "short",
			text: "Open files and connections, and the limit of the process.",
			queries: []query{
				{"process_open_fds{$at}", "{{instance}}"},
				{"min(process_max_fds{$at})", "limit"},
			},
		},
		{
			kind: bars, title: "Starts", width: 8, unit: "none",
			text: "How often each process started. Several in a row: the last line of its log before the start says " +
				"why.",
			queries: []query{{"changes(process_start_time_seconds{$at}[$r]) > 0", "{{instance}}"}},
			empty:   "None in this time.",
		},
		{
			kind: rows, title: "Versions of the program", width: 8, unit: "none",
			text: "How many processes run each version. Two versions are right only during an upgrade.",
			queries: []query{
				{`count by (job, version) ({__name__=~"wardcast_build_info|wardcast_bridge_build_info", $at})`, ""},
			},
			columns: map[string]string{"job": "Job", "version": "Version", "Value": "Processes"},
		},
		{
			title: "Spans of traces per second", width: 8, unit: "short",
			text: "Empty unless traces.endpoint is set. dropped: the collector did not take them; notes are answered " +
				"all the same. The log has the reason.",
			queries: []query{{
				"sum by (result) (rate(wardcast_trace_spans_total{$at}[$r]))",
				"{{result}}",
			}},
		},
	}
}
