// The official TypeScript client of MCP against `ptc-workbench mcp`.
// usage: node mcp_client.mjs NODE_MODULES PROGRAM [ARGUMENT…]; prints one JSON object.
const [modules, command, ...args] = process.argv.slice(2);
const sdk = (file) => import(`${modules}/@modelcontextprotocol/sdk/dist/esm/${file}`);
const { Client } = await sdk("client/index.js");
const { StdioClientTransport } = await sdk("client/stdio.js");
const { ElicitRequestSchema } = await sdk("types.js");

const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  const field = Object.keys(params.requestedSchema.properties)[0];
  return { action: "accept", content: { [field]: /size/.test(params.message) ? "large" : "red" } };
});
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
// The client checks structured content against the tool's schema.
const answer = async (name) => (await client.callTool({ name, arguments: {} })).structuredContent;
const report = { tools, optional: await answer("optional"), asked: await answer("ask") };
report.unknown = (await client.callTool({ name: "nope", arguments: {} })).isError;
await client.close();
console.log(JSON.stringify(report));
