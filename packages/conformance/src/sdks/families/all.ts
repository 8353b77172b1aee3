import { anthropicCases } from '../anthropic.ts'
import type { Case } from '../context.ts'
import { finishCases } from '../finish-cases.ts'
import { googleCases } from '../gemini.ts'
import { mediaCases } from '../media-cases.ts'
import { ollamaCases } from '../ollama.ts'
import { openaiCases } from '../openai.ts'
import { responsesCases } from '../responses.ts'
import { thinkingCases } from '../thinking-cases.ts'
import { bedrockFamilies } from './bedrock.ts'
import { derivedFamilies } from './derived.ts'
import type { Family } from './family-suite.ts'
import { vendorFamilies } from './vendors.ts'

type Client = Parameters<typeof thinkingCases>[0]

/** A format's own client. Its suite runs these cases on every server, those of a family on one. */
const own = (packageName: string, name: string, client: Client, cases: readonly Case[]): Family => ({
  package: packageName,
  name,
  cases: [...cases, ...thinkingCases(client), ...finishCases(client), ...mediaCases(client)],
})

/** Every official client that the suites run, with its cases. */
export const allFamilies: readonly Family[] = [
  own('openai', 'OpenAI, chat completions', 'chat', openaiCases),
  own('openai', 'OpenAI, responses', 'responses', responsesCases),
  own('@anthropic-ai/sdk', 'Anthropic', 'messages', anthropicCases),
  own('@google/genai', 'GoogleGenAI', 'gemini', googleCases),
  own('ollama', 'Ollama', 'ollama', ollamaCases),
  ...derivedFamilies,
  ...vendorFamilies,
  ...bedrockFamilies,
]
