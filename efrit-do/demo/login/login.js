const users = require('./users');

function login(name, password, done) {
  users.find(name).then(user => {
    if (!user) return done(new Error('No such user'));
    return users.check(user, password).then(ok => {
      if (!ok) return done(new Error('Wrong password'));
      return users.open(user).then(session => done(null, session));
    });
  }).catch(done);
}

module.exports = { login };
