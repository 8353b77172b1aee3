import { afterAll } from 'vitest'
import { openaiCases } from './openai.ts'
import { runSuite } from './suite.ts'

const reported = runSuite('the openai SDK', 'chat', openaiCases)
afterAll(() => console.log(reported()))
