/**
 * A stand-in for a userscript manager: what it grants is in no variable of the page.
 * arguments: the script, what it has kept. The page gets `manager`, to look on from outside.
 */
const [script, kept] = arguments;
window.manager = { bodies: "", requests: [], lose: 0, kept: () => kept, menu: {} };

async function xmlHttpRequest({ method, url, headers, data, timeout, onload, onerror, ontimeout }) {
  manager.requests.push({ method, url, headers, data });
  try {
    const answer = await fetch(url, { method, headers, body: data, signal: AbortSignal.timeout(timeout) });
    const responseText = await answer.text();
    if (method === "POST" && manager.lose > 0) {
      manager.lose -= 1;
      return onerror({ status: 0 });
    }
    manager.bodies += responseText;
    const responseHeaders = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\r\n");
    onload({ status: answer.status, responseText, responseHeaders });
  } catch (error) {
    (error.name === "TimeoutError" ? ontimeout : onerror)({ status: 0 });
  }
}

const GM = {
  xmlHttpRequest,
  getValue: async (name, otherwise) => kept[name] ?? otherwise,
  setValue: async (name, value) => void (kept[name] = value),
  registerMenuCommand: async (name, does) => void (manager.menu[name] = does),
};
new Function("GM", script)(GM);
