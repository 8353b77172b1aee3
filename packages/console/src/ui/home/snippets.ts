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
      about: 'List the models that your token may use, then call one of them.',
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
      about: 'OpenAI’s SDK: chat completions or responses, with any model of this gateway.',
      code: `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${openai}',
  apiKey: process.env.TOKEN,
})

const response = await client.chat.completions.create({
  model: 'MODEL',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(response.choices[0].message.content)`,
    },
    {
      id: 'python',
      title: 'Python',
      about:
        'OpenAI’s Python SDK: pip install openai. The Python SDKs of Anthropic and Google take the other base URLs above.',
      code: `import os

from openai import OpenAI

client = OpenAI(base_url="${openai}", api_key=os.environ["TOKEN"])

response = client.chat.completions.create(
    model="MODEL",
    messages=[{"role": "user", "content": "Hello"}],
)
print(response.choices[0].message.content)`,
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

const response = await client.messages.create({
  model: 'MODEL',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(response.content)`,
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

const response = await client.models.generateContent({
  model: 'MODEL',
  contents: 'Hello',
})
console.log(response.text)`,
    },
    {
      id: 'claude-code',
      title: 'Claude Code',
      about: 'Claude Code uses the haiku model for titles and summaries.',
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
      about: 'Add a model provider to ~/.codex/config.toml. The token stays in an environment variable.',
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
    {
      id: 'gemini-cli',
      title: 'Gemini CLI',
      about: 'Gemini CLI with an API key. It adds the version itself.',
      code: `export GOOGLE_GEMINI_BASE_URL=${gemini}
export GEMINI_API_KEY="your token"
gemini --model MODEL`,
    },
  ]
}
