import { defineConfig } from 'modelgate'

// The server that `npm start` runs. Without `upstreams` it uses the providers whose keys are in the environment or .env
// (OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, …), and without any key a demo.
export default defineConfig({
  // Settings of a typical server; see docs/reference/cli.md for all of them.
  //
  // upstreams: { claude: anthropic({ apiKey: process.env.ANTHROPIC_API_KEY }) },
  // models: { 'claude-*': 'claude' },
  // data: 'data', // folder of issued tokens: modelgate tokens issue --name laptop

  // The home page and the Playground, which shows token holders how their calls are handled.
  console: { playground: true, explain: true },
})
