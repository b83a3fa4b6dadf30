package embedded_test

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/ingest/embedded"
)

// A broker in memory on a free port, for any Kafka client.
func Example() {
	broker, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer broker.Close()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(broker.Addr()), Transport: transport}
	cluster, err := client.Metadata(context.Background(), &kafka.MetadataRequest{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(cluster.Brokers), "broker,", len(cluster.Topics), "topics")
	// Output: 1 broker, 0 topics
}
