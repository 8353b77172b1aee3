import { anthropicCases } from './sdk-anthropic.ts'
import { googleCases } from './sdk-gemini.ts'
import { openaiCases } from './sdk-openai.ts'
import { responsesCases } from './sdk-responses.ts'
import { runCurrentModels } from './sdk-suite.ts'

runCurrentModels('the openai SDK on chat', 'chat', openaiCases)
runCurrentModels('the Anthropic SDK', 'messages', anthropicCases)
runCurrentModels('the Google SDK', 'gemini', googleCases)
runCurrentModels('the openai SDK on responses', 'responses', responsesCases)
