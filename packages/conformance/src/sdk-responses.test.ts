import { afterAll } from 'vitest'
import { responsesCases } from './sdk-responses.ts'
import { runSuite } from './sdk-suite.ts'

const told = runSuite('the openai SDK on responses', 'responses', responsesCases)
afterAll(() => console.log(told()))
