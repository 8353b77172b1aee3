import { anthropicCases } from './anthropic.ts'
import { googleCases } from './gemini.ts'
import { openaiCases } from './openai.ts'
import { responsesCases } from './responses.ts'
import { runCurrentModels } from './suite.ts'

runCurrentModels('the OpenAI SDK on chat', 'chat', openaiCases)
runCurrentModels('the Anthropic SDK', 'messages', anthropicCases)
runCurrentModels('the Google SDK', 'gemini', googleCases)
runCurrentModels('the OpenAI SDK on responses', 'responses', responsesCases)
