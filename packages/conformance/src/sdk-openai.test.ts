import { afterAll } from 'vitest'
import { openaiCases } from './sdk-openai.ts'
import { runSuite } from './sdk-suite.ts'

const told = runSuite('the openai SDK', 'chat', openaiCases)
afterAll(() => console.log(told()))
