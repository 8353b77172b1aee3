import { defineConfig } from 'modelgate'

// The server that `npm start` runs. Without `upstreams` it takes those whose keys are in the environment (OPENAI_API_KEY,
// ANTHROPIC_API_KEY, GEMINI_API_KEY, …, or lines of .env), and without any key a demo answers.
export default defineConfig({
  // What another server would say here; docs/cli.md has all of it.
  //
  // upstreams: { claude: anthropic({ apiKey: process.env.ANTHROPIC_API_KEY }) },
  // models: { 'claude-*': 'claude' },
  // data: 'data', // tokens are issued into this folder: modelgate tokens issue --name laptop

  // The home page and the Playground, which shows holders of a token what became of their call.
  console: { playground: true, explain: true },
})
