// The flow lists of simulate/examples/flows.rs in SimGrid (3.32, Debian's libsimgrid-dev): three-level fat tree with D-mod-K
// routes, model CM02 without cross traffic. Latency is paid before the transfer; links are shared in inverse proportion to
// latency, as `--fairness rtt` does.
//
//   g++ -O2 simgrid.cpp -lsimgrid -o simgrid && ./simgrid FLOWS.csv 4,4,8 1,4,4 12.5e9 1e-6 ENDS.txt
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace sg = simgrid::s4u;

struct Flow {
  unsigned src, dst;
  uint64_t bytes;
  double start_s;
};

static std::vector<unsigned> numbers(const std::string& text) {
  std::vector<unsigned> found;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');)
    found.push_back(std::stoul(part));
  return found;
}

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  sg::Engine::set_config("network/model:CM02");
  sg::Engine::set_config("network/crosstraffic:0");
  if (argc < 6) {
    std::fprintf(stderr, "usage: %s FLOWS.csv M W BYTES_PER_S LATENCY_S [ENDS]\n", argv[0]);
    return 2;
  }
  std::vector<Flow> flows;
  std::ifstream list(argv[1]);
  for (std::string line; std::getline(list, line);) {
    Flow flow{};
    unsigned long long bytes = 0, start_ns = 0;
    if (std::sscanf(line.c_str(), "%u,%u,%llu,%llu", &flow.src, &flow.dst, &bytes, &start_ns) < 3) {
      std::fprintf(stderr, "%s: `%s`\n", argv[1], line.c_str());
      return 1;
    }
    flow.bytes = bytes;
    flow.start_s = static_cast<double>(start_ns) * 1e-9;
    flows.push_back(flow);
  }

  auto down = numbers(argv[2]);
  auto up = numbers(argv[3]);
  std::vector<unsigned> count(down.size(), 1);
  sg::FatTreeParams shape(down.size(), down, up, count);
  auto host = [](sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    auto* made = zone->create_host("h" + std::to_string(id), 1e9);
    made->seal();
    return std::make_pair(made->get_netpoint(), static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
  };
  sg::ClusterCallbacks callbacks(host);
  auto* tree = sg::create_fatTree_zone("tree", nullptr, shape, callbacks, std::stod(argv[4]), std::stod(argv[5]),
                                       sg::Link::SharingPolicy::SPLITDUPLEX);
  tree->seal();
  unsigned hosts = std::accumulate(down.begin(), down.end(), 1U, std::multiplies<unsigned>());
  std::vector<sg::Host*> by_number;
  for (unsigned i = 0; i < hosts; i++)
    by_number.push_back(sg::Host::by_name("h" + std::to_string(i)));

  std::vector<size_t> order(flows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return flows[a].start_s < flows[b].start_s; });
  std::vector<sg::CommPtr> comms(flows.size());
  sg::Actor::create("starter", by_number[0], [&] {
    for (size_t i : order) {
      const Flow& flow = flows[i];
      if (flow.start_s > sg::Engine::get_clock())
        sg::this_actor::sleep_until(flow.start_s);
      comms[i] = sg::Comm::sendto_async(by_number[flow.src], by_number[flow.dst], flow.bytes);
    }
    for (auto& comm : comms)
      comm->wait();
  });
  engine.run();

  double makespan = 0;
  for (auto& comm : comms)
    makespan = std::max(makespan, comm->get_finish_time());
  std::printf("flows: %zu\nmakespan_ms: %.9f\n", flows.size(), makespan * 1e3);
  if (argc > 6) {
    std::FILE* file = std::fopen(argv[6], "w");
    if (file == nullptr) {
      std::perror(argv[6]);
      return 1;
    }
    for (auto& comm : comms)
      std::fprintf(file, "%.12f\n", comm->get_finish_time());
    std::fclose(file);
  }
  return 0;
}
