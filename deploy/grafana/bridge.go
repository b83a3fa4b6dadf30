package main

func bridge() []panel {
	return []panel{
		{
			kind: states, title: "Bridge readiness", width: 8, unit: "none", words: readyWords,
			text: "Whether messages are taken. Not ready: what was joined before is being read, or Kafka is away. " +
				"WardcastBridgeUnanswered.",
			queries: []query{{"wardcast_bridge_ready{$at}", "{{instance}}"}},
		},
		{
			title: "Messages per second, by answer", width: 8, unit: "short",
			text: "AA: taken. AE and AR: refused (WardcastBridgeRefuses). none: the sender will repeat it, since " +
				"Kafka or a FHIR server was away (WardcastBridgeUnanswered).",
			queries: []query{{
				"sum by (answer) (rate(wardcast_bridge_messages_total{$at}[$r]))", "{{answer}}",
			}},
		},
		{
			title: "Notes and outcomes per second", width: 8, unit: "short",
			text: "What the bridge made of the messages and Kafka has acknowledged.",
			queries: []query{{
				"sum by (topic) (rate(wardcast_bridge_events_total{$at}[$r]))", "{{topic}}",
			}},
		},
		{
			kind: bars, title: "Refused messages, by reason", width: 8, unit: "none",
			text: "The reasons stand in docs/interfaces.md; wardcast dlq list --of bridge --by-reason counts them.",
			queries: []query{{
				"sum by (reason) (increase(wardcast_bridge_dead_letters_total{$at}[$r])) > 0",
				"{{reason}}",
			}},
			empty: "None in this time.",
		},
		{
			kind: bars, title: "Values that cannot be used", width: 8, unit: "none",
			text: "The rest of their messages is used. If it grows, a code or a unit is missing in the configuration.",
			queries: []query{{
				"sum by (value) (increase(wardcast_bridge_unused_values_total{$at}[$r])) > 0",
				"{{value}}",
			}},
			empty: "None in this time.",
		},
		{
			title: "Visits, and what they lack", width: 8, unit: "short",
			text: "Emergency visits that are remembered (none), and how many lack a text, a complaint or an outcome. " +
				"Most lack a text or a complaint: a feed is missing.",
			queries: []query{{"max by (lack) (wardcast_bridge_visits{$at})", "{{lack}}"}},
		},
		{
			title: "Delay of predictions to the hospital", width: 8, unit: "s", bad: 300,
			text: "Age of the prediction that is being sent. If it grows, the receiver is away: " +
				"WardcastBridgeAnswersLate.",
			queries: []query{{"wardcast_bridge_answer_delay_seconds{$at}", "{{to}}, {{instance}}"}},
		},
		{
			title: "Predictions sent per second, by result", width: 8, unit: "short",
			text: "Attempts to send a prediction to the hospital. unknown: the visit is not one of this bridge.",
			queries: []query{{
				"sum by (to, result) (rate(wardcast_bridge_answers_total{$at}[$r])) > 0",
				"{{result}}, {{to}}",
			}},
		},
		{
			title: "Oldest visit without a note", width: 8, unit: "s",
			text: "Time since the first message of the oldest emergency visit without a note. Hours: no text or no " +
				"complaint comes.",
			queries: []query{{"max(wardcast_bridge_oldest_unjoined_seconds{$at})", "oldest"}},
		},
		{
			title: "Time to answer and to write", width: 12, unit: "s",
			text: "What 99 % of the messages, and of the writes to Kafka, do not exceed. The first must stay below " +
				"the time-out of the senders.",
			queries: []query{
				{
					"histogram_quantile(0.99, sum by (le) (rate(wardcast_bridge_message_seconds_bucket{$at}[$r])))",
					"message to answer",
				},
				{
					"histogram_quantile(0.99, sum by (le) (rate(wardcast_bridge_commit_seconds_bucket{$at}[$r])))",
					"write to Kafka",
				},
			},
		},
		{
			title: "Connections", width: 12, unit: "short",
			text: "Open connections, and how many ended per second in another way than closed by the sender.",
			queries: []query{
				{"sum by (instance) (wardcast_bridge_connections{$at})", "open, {{instance}}"},
				{
					`sum by (end) (rate(wardcast_bridge_ended_connections_total{$at, end!="closed"}[$r])) > 0`,
					"{{end}}",
				},
			},
		},
	}
}
