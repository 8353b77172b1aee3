import { afterAll } from 'vitest'
import { anthropicCases } from './anthropic.ts'
import { runSuite } from './suite.ts'

const reported = runSuite('the anthropic SDK', 'messages', anthropicCases)
afterAll(() => console.log(reported()))
