import { afterAll } from 'vitest'
import { openaiCases } from './openai.ts'
import { runSuite } from './suite.ts'

const told = runSuite('the openai SDK', 'chat', openaiCases)
afterAll(() => console.log(told()))
