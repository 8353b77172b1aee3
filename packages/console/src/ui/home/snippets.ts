import { baseUrls } from '../address.ts'

export interface Snippet {
  readonly id: string
  readonly title: string
  /** One line about its purpose or prerequisites. */
  readonly about: string
  readonly code: string
}

/** Returns code snippets for a gateway at this address. The reader replaces the words in capitals. */
export function snippetsFor(gateway: string): readonly Snippet[] {
  const { openai, anthropic, gemini } = baseUrls(gateway)
  return [
    {
      id: 'curl',
      title: 'curl',
      about: 'List the models that your token may use, then ask one of them.',
      code: `export TOKEN="your token"

curl ${openai}/models -H "Authorization: Bearer $TOKEN"

curl ${openai}/chat/completions \\
  -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "MODEL",
    "messages": [{ "role": "user", "content": "Hello" }]
  }'`,
    },
    {
      id: 'openai',
      title: 'openai',
      about: 'OpenAI’s SDK, with chat completions or responses, for any model behind the gateway.',
      code: `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${openai}',
  apiKey: process.env.TOKEN,
})

const answer = await client.chat.completions.create({
  model: 'MODEL',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.choices[0].message.content)`,
    },
    {
      id: 'anthropic',
      title: '@anthropic-ai/sdk',
      about: 'Anthropic’s SDK. It adds /v1 itself.',
      code: `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: '${anthropic}',
  apiKey: process.env.TOKEN,
})

const answer = await client.messages.create({
  model: 'MODEL',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.content)`,
    },
    {
      id: 'genai',
      title: '@google/genai',
      about: 'Google’s GenAI SDK. It adds the version itself.',
      code: `import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({
  apiKey: process.env.TOKEN,
  httpOptions: { baseUrl: '${gemini}' },
})

const answer = await client.models.generateContent({
  model: 'MODEL',
  contents: 'Hello',
})
console.log(answer.text)`,
    },
    {
      id: 'claude-code',
      title: 'Claude Code',
      about: 'It asks a smaller model for titles and summaries: the haiku line names it.',
      code: `export ANTHROPIC_BASE_URL=${anthropic}
export ANTHROPIC_AUTH_TOKEN="your token"
export ANTHROPIC_MODEL=MODEL
export ANTHROPIC_DEFAULT_HAIKU_MODEL=MODEL
export ANTHROPIC_DEFAULT_SONNET_MODEL=MODEL
export ANTHROPIC_DEFAULT_OPUS_MODEL=MODEL
claude`,
    },
    {
      id: 'codex',
      title: 'Codex CLI',
      about: 'A provider of its own, in ~/.codex/config.toml; the token stays in the environment.',
      code: `# ~/.codex/config.toml
model_provider = "modelgate"
model = "MODEL"

[model_providers.modelgate]
name = "modelgate"
base_url = "${openai}"
env_key = "MODELGATE_TOKEN"
wire_api = "responses"

# in the shell
export MODELGATE_TOKEN="your token"
codex`,
    },
  ]
}
