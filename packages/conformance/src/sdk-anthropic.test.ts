import { afterAll } from 'vitest'
import { anthropicCases } from './sdk-anthropic.ts'
import { runSuite } from './sdk-suite.ts'

const told = runSuite('the anthropic SDK', 'messages', anthropicCases)
afterAll(() => console.log(told()))
