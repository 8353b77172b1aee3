import { describeMiddleware } from './middleware.test-support.ts'
import { honoMiddleware } from './middleware.ts'

describeMiddleware(honoMiddleware)
