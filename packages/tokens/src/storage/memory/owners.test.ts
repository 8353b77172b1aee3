import { describeOwners } from '../owners.test-support.ts'
import { memoryStorage } from './memory-storage.ts'

describeOwners('memory', () => {
  const first = memoryStorage()
  return { first, close: () => first.close() }
})
