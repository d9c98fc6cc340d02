"use strict";

// A stream of events never ends by itself: what came in this time is shown.
const STREAM_MILLISECONDS = 10_000;

// Whatever stands before /docs, a proxy's path too, stands before every operation.
const HERE = new URL(".", location.href).href.replace(/\/$/, "");

function calledHere() {
  const served = (update) => (contract) => update({ ...contract, servers: [{ url: HERE }] });
  return { statePlugins: { spec: { wrapActions: { updateJsonSpec: served } } } };
}

// Every reference of the contract leads to its own components. The viewer's resolver walks the whole document, for
// seconds, whenever something is opened.
function resolvedHere() {
  const at = (document, path) => path.reduce((node, name) => node?.[name], document);
  const resolved = (node, contract, within = []) => {
    if (Array.isArray(node)) return node.map((each) => resolved(each, contract, within));
    if (node === null || typeof node !== "object") return node;
    const { $ref, ...own } = node;
    if (typeof $ref !== "string" || within.includes($ref)) {
      return Object.fromEntries(Object.entries(node).map(([name, each]) => [name, resolved(each, contract, within)]));
    }
    const there = resolved(at(contract, $ref.split("/").slice(1)), contract, [...within, $ref]);
    return { ...there, ...resolved(own, contract, within) };
  };
  return { fn: { resolveSubtree: async (contract, path) => ({ spec: resolved(at(contract, path), contract), errors: [] }) } };
}

function searchOfOperations({ React }) {
  const told = (tag, found) => {
    const operation = found.get("operation");
    const parameters = (operation.get("parameters") ?? []).map((parameter) => parameter.get("name") ?? "");
    const parts = ["summary", "description", "operationId"].map((part) => operation.get(part) ?? "");
    return [tag, found.get("method"), found.get("path"), ...parts, ...parameters].join(" ").toLowerCase();
  };

  const opsFilter = (tagged, phrase) => {
    const words = phrase.toLowerCase().split(/\s+/);
    const matches = (tag) => (found) => words.every((word) => told(tag, found).includes(word));
    return tagged
      .map((group, tag) => group.update("operations", (operations) => operations.filter(matches(tag))))
      .filter((group) => group.get("operations").size > 0);
  };

  const FilterContainer = ({ layoutActions }) =>
    React.createElement(
      "search",
      { className: "filter-container wrapper" },
      React.createElement("input", {
        type: "search",
        className: "operation-filter-input",
        placeholder: "Search the operations",
        "aria-label": "Search the operations",
        onChange: (event) => layoutActions.updateFilter(event.target.value),
      }),
    );

  return { fn: { opsFilter }, components: { FilterContainer } };
}

async function read(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  const timer = setTimeout(() => reader.cancel(), STREAM_MILLISECONDS);
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
  clearTimeout(timer);
  return text;
}

async function fetchSomeEvents(url, request) {
  const response = await fetch(url, request);
  const events = response.headers.get("content-type")?.startsWith("text/event-stream");
  return events ? new Response(await read(response.body), response) : response;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  plugins: [resolvedHere, calledHere, searchOfOperations],
  filter: true,
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  requestInterceptor: (request) => ({ ...request, userFetch: fetchSomeEvents }),
});
