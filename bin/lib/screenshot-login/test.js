const assert = require('assert');
const { login } = require('./login');

(async () => {
  assert.ok(await login('ada', 'right'));
  await assert.rejects(login('ada', 'wrong'), { name: 'LoginError' });
  await assert.rejects(login('eve', 'right'), { name: 'LoginError' });
  console.log('3 tests passed');
})();
